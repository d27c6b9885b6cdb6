import { SluiceError } from "../errors.ts";
import type { Gguf } from "../gguf/types.ts";
import { blockFormat } from "../quant/index.ts";
import type { MetadataReader } from "./metadata-reader.ts";
import type { RopeParameters, RopeStyle } from "./types.ts";

/** Divisors of the frequencies, which Llama 3.1 and later carry. */
export const ROPE_FACTORS = "rope_freqs.weight";

/** llama.cpp's default where `rope.freq_base` is absent. */
const DEFAULT_BASE = 10_000;

/**
 * How positions turn queries and keys. Errors: `bad-model` where not the whole head is rotated (llama.cpp demands it of
 * these architectures) or the factors make no sense; `unsupported` for scalings other than linear.
 */
export function readRope(
  reader: MetadataReader,
  gguf: Gguf,
  headSize: number,
  style: RopeStyle,
): RopeParameters {
  const dimensions = reader.integer("rope.dimension_count", { min: 0, max: 65_536 }) ?? headSize;
  if (dimensions !== headSize || dimensions % 2 !== 0) {
    throw reader.fail(
      `rope.dimension_count is ${dimensions}; it must be even and the size of a head, ${headSize}`,
    );
  }
  const factors = readFactors(reader, gguf, headSize);
  return {
    dimensions,
    style,
    base: reader.positive("rope.freq_base") ?? DEFAULT_BASE,
    positionScale: readPositionScale(reader, gguf.path),
    ...(factors && { factors }),
  };
}

function readPositionScale(reader: MetadataReader, path: string): number {
  // A factor without a type is linear; `rope.scale_linear` is how files of 2023 say it (llama-model.cpp, load_hparams).
  const type = reader.string(`${reader.architecture}.rope.scaling.type`) ?? "linear";
  if (type === "none") return 1;
  if (type !== "linear") {
    throw new SluiceError(
      "unsupported",
      `${path}: positions are scaled by ${JSON.stringify(type)}; sluice knows none and linear`,
      {
        next: "Use a file of the model without this context extension.",
      },
    );
  }
  // llama.cpp takes 0 for no scaling.
  return 1 / (reader.number("rope.scaling.factor") || reader.number("rope.scale_linear") || 1);
}

function readFactors(reader: MetadataReader, gguf: Gguf, headSize: number): number[] | undefined {
  const tensor = gguf.tensors.get(ROPE_FACTORS);
  if (tensor === undefined) return undefined;
  const count = headSize / 2;
  if (tensor.shape.reduce((product, size) => product * size, 1) !== count) {
    throw reader.fail(`${ROPE_FACTORS} has shape [${tensor.shape}]; it must be [${count}]`);
  }
  const bytes = new Uint8Array(tensor.bytes);
  gguf.read(tensor.offset, bytes);
  const factors = new Float32Array(count);
  blockFormat(tensor.type, tensor.name).dequantize(bytes, factors, count);
  const wrong = factors.find((factor) => !(factor > 0 && Number.isFinite(factor)));
  if (wrong !== undefined) throw reader.fail(`${ROPE_FACTORS} holds ${wrong}; all of it must be above 0`);
  return [...factors];
}
