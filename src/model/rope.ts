import { SluiceError } from "../errors.ts";
import type { Gguf } from "../gguf/types.ts";
import { blockFormat } from "../quant/index.ts";
import type { Architecture } from "./architecture.ts";
import type { MetadataReader } from "./metadata-reader.ts";
import type { RopeParameters } from "./types.ts";

/** Divisors of the frequencies: those that Llama 3.1 and later carry, and longrope's for short and long contexts. */
const FACTORS = "rope_freqs.weight";
const SHORT_FACTORS = "rope_factors_short.weight";
const LONG_FACTORS = "rope_factors_long.weight";
export const ROPE_TENSORS = [FACTORS, SHORT_FACTORS, LONG_FACTORS];

/** llama.cpp's default where `rope.freq_base` is absent. */
const DEFAULT_BASE = 10_000;
const SCALINGS = ["none", "linear", "yarn", "longrope"];
/** Turns of a pair within the original context from which on yarn leaves it alone, and down to which it interpolates. */
const YARN_TURNS = { fast: 32, slow: 1 };

/**
 * How positions turn queries and keys. Errors: `bad-model` where not the whole head is rotated (llama.cpp demands it of
 * most architectures) or the factors make no sense; `unsupported` for scalings that sluice does not know.
 */
export function readRope(
  reader: MetadataReader,
  gguf: Gguf,
  headSize: number,
  { ropeStyle: style, partialRope = false }: Pick<Architecture, "ropeStyle" | "partialRope">,
): RopeParameters {
  const dimensions = reader.integer("rope.dimension_count", { min: 0, max: 65_536 }) ?? headSize;
  const fits = partialRope ? dimensions >= 2 && dimensions <= headSize : dimensions === headSize;
  if (!fits || dimensions % 2 !== 0) {
    const wanted = partialRope ? "at most the size of a head" : "the size of a head";
    throw reader.fail(`rope.dimension_count is ${dimensions}; it must be even and ${wanted}, ${headSize}`);
  }
  const type = readType(reader, gguf.path);
  const base = reader.positive("rope.freq_base") ?? DEFAULT_BASE;
  const positionScale = type === "none" ? 1 : readPositionScale(reader);
  const attention = attentionFactor(reader);
  const factors = readFactors(reader, gguf, FACTORS, dimensions);
  const short = factors ?? readFactors(reader, gguf, SHORT_FACTORS, dimensions);
  const long = factors === undefined ? readFactors(reader, gguf, LONG_FACTORS, dimensions) : undefined;
  if (type === "yarn") {
    if (long !== undefined) throw reader.fail(`it has ${LONG_FACTORS}, and positions scaled by yarn`);
    return {
      ...{ dimensions, style, base, positionScale: 1 },
      factors: yarnFactors(reader, dimensions, base, positionScale).map((f, i) => f * (short?.[i] ?? 1)),
      ...magnitude(attention * yarnMagnitude(reader, 1 / positionScale)),
    };
  }
  return {
    ...{ dimensions, style, base, positionScale },
    ...(short && { factors: short }),
    ...(long && { longFactors: long, shortContext: originalContext(reader) }),
    ...magnitude(attention),
  };
}

/** The rotation of layers with a window: with another base, and without scaling. */
export function localRope(
  reader: MetadataReader,
  { dimensions, style }: RopeParameters,
  base: number,
): RopeParameters {
  return { dimensions, style, base, positionScale: 1, ...magnitude(attentionFactor(reader)) };
}

/** The context before it was extended. */
export function originalContext(reader: MetadataReader): number {
  const range = { min: 1, max: 0xffff_ffff };
  return (
    reader.integer("rope.scaling.original_context_length", range) ??
    reader.requiredInteger("context_length", range)
  );
}

function readType(reader: MetadataReader, path: string): string {
  // A factor without a type is linear; `rope.scale_linear` is how files of 2023 say it (llama-model.cpp, load_hparams).
  const type = reader.string(`${reader.architecture}.rope.scaling.type`) ?? "linear";
  if (SCALINGS.includes(type)) return type;
  throw new SluiceError(
    "unsupported",
    `${path}: positions are scaled by ${JSON.stringify(type)}; sluice knows ${SCALINGS.join(", ")}`,
    { next: "Use a file of the model without this context extension." },
  );
}

/** llama.cpp takes 0 for no scaling. */
function readPositionScale(reader: MetadataReader): number {
  return 1 / (reader.number("rope.scaling.factor") || reader.number("rope.scale_linear") || 1);
}

function attentionFactor(reader: MetadataReader): number {
  return reader.positive("rope.scaling.attn_factor") ?? 1;
}

function magnitude(value: number): Pick<RopeParameters, "magnitude"> {
  return value === 1 ? {} : { magnitude: value };
}

/**
 * YaRN (arXiv 2309.00071, section 3.2) as llama.cpp has it: pairs that turn often within the original context keep their
 * frequencies, those that turn seldom are interpolated, those between partly. What divides the frequency of each pair.
 */
function yarnFactors(
  reader: MetadataReader,
  dimensions: number,
  base: number,
  positionScale: number,
): number[] {
  const context = originalContext(reader);
  // The pair that turns so many times in the original context.
  const pairOf = (turns: number) =>
    (dimensions * Math.log(context / (turns * 2 * Math.PI))) / (2 * Math.log(base));
  const fast = reader.positive("rope.scaling.yarn_beta_fast") ?? YARN_TURNS.fast;
  const slow = reader.positive("rope.scaling.yarn_beta_slow") ?? YARN_TURNS.slow;
  const first = Math.max(0, Math.floor(pairOf(fast)));
  const last = Math.min(dimensions - 1, Math.ceil(pairOf(slow)));
  return Array.from({ length: dimensions / 2 }, (_, pair) => {
    const interpolated = Math.min(1, Math.max(0, (pair - first) / Math.max(0.001, last - first)));
    return 1 / (positionScale * interpolated + 1 - interpolated);
  });
}

/** The same, equation 22: 0.1 ln(factor) + 1, divided by what `yarn_log_multiplier` says is in the weights already. */
function yarnMagnitude(reader: MetadataReader, factor: number): number {
  const grown = (multiplier: number) => (factor <= 1 ? 1 : 0.1 * multiplier * Math.log(factor) + 1);
  return grown(1) / grown(reader.number("rope.scaling.yarn_log_multiplier") ?? 0);
}

function readFactors(
  reader: MetadataReader,
  gguf: Gguf,
  name: string,
  dimensions: number,
): number[] | undefined {
  const tensor = gguf.tensors.get(name);
  if (tensor === undefined) return undefined;
  const count = dimensions / 2;
  if (tensor.shape.reduce((product, size) => product * size, 1) !== count) {
    throw reader.fail(`${name} has shape [${tensor.shape}]; it must be [${count}]`);
  }
  const bytes = new Uint8Array(tensor.bytes);
  gguf.read(tensor.offset, bytes);
  const factors = new Float32Array(count);
  blockFormat(tensor.type, tensor.name).dequantize(bytes, factors, count);
  const wrong = factors.find((factor) => !(factor > 0 && Number.isFinite(factor)));
  if (wrong !== undefined) throw reader.fail(`${name} holds ${wrong}; all of it must be above 0`);
  return [...factors];
}
