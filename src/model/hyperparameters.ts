import { SluiceError } from "../errors.ts";
import type { Gguf } from "../gguf/types.ts";
import { sourceName } from "../models-on-disk/source-name.ts";
import type { Description } from "./architecture.ts";
import { findArchitecture } from "./architectures/index.ts";
import { MetadataReader } from "./metadata-reader.ts";
import { readRope } from "./rope.ts";
import type { Hyperparameters, LayerShape } from "./types.ts";

/** Far beyond any model (llama.cpp stops at 512 layers), and small enough that products stay far below 2^53. */
const LAYERS = { min: 1, max: 4096 };
const HEADS = { min: 1, max: 65_536 };
const SIZE = { min: 1, max: 1 << 24 };
/** Keys of what is added to the variance, by the kind of norm. */
const EPSILON = { rms: "attention.layer_norm_rms_epsilon", layer: "attention.layer_norm_epsilon" };
const COUNT = { min: 0, max: 0xffff_ffff };

/**
 * Read and check what the metadata says about the model. Sizes that tensors have too are compared by `planModel`.
 *
 * Errors: `bad-model` for what is missing, of a wrong type, out of range or contradictory; `unsupported` for an
 * architecture, a rope scaling or a mixture of experts that sluice cannot run.
 */
export function readHyperparameters(gguf: Gguf): Hyperparameters {
  const reader = new MetadataReader(gguf);
  const architecture = findArchitecture(reader.architecture, gguf.path);
  refuseExperts(reader, gguf.path);
  refuseEncoders(reader, gguf.path);

  const width = reader.requiredInteger("embedding_length", SIZE);
  const shapes = readShapes(reader);
  const { heads } = shapes[0];
  const headSize = readHeadSize(reader, width, heads);
  const rope = readRope(reader, gguf, headSize, architecture);
  const has = (name: string) => gguf.tensors.has(name);
  const outline = { layers: shapes.length, width, heads, headSize, rope, has };
  const { departures, ...layers }: Description = architecture.describe?.(reader, outline) ?? {};
  return {
    architecture: architecture.name,
    name: givenName(reader.string("general.name")) ?? sourceName(gguf.path),
    contextLength: reader.requiredInteger("context_length", { min: 1, max: COUNT.max }),
    width,
    headSize,
    vocabulary: readVocabulary(reader, gguf),
    normEpsilon: reader.requiredPositive(EPSILON[departures?.norm ?? "rms"]),
    rope,
    layers: shapes.map((shape, layer): LayerShape => {
      const window = layers.window?.(layer);
      return { ...shape, rope: layers.rope?.(layer) ?? true, ...(window !== undefined && { window }) };
    }),
    tiedOutput: !gguf.tensors.has("output.weight"),
    ...departures,
  };
}

/** What a converter writes where it knows no name is none. */
function givenName(name: string | undefined): string | undefined {
  return name === undefined || /^\s*(n\/?a|none|null|unknown)?\s*$/i.test(name) ? undefined : name;
}

function readShapes(reader: MetadataReader): Omit<LayerShape, "rope" | "window">[] {
  const count = reader.requiredInteger("block_count", LAYERS);
  const heads = reader.requiredPerLayer("attention.head_count", count, HEADS);
  const kvHeads = reader.perLayer("attention.head_count_kv", count, HEADS) ?? heads;
  const feedForward = reader.requiredPerLayer("feed_forward_length", count, SIZE);
  return heads.map((all, layer) => {
    if (all % kvHeads[layer] !== 0) {
      throw reader.fail(
        `layer ${layer} has ${all} heads, which ${kvHeads[layer]} key-value heads do not divide`,
      );
    }
    return { heads: all, kvHeads: kvHeads[layer], feedForward: feedForward[layer] };
  });
}

/** `attention.key_length` where it is given, else the width divided among the heads (of the first layer, as in llama.cpp). */
function readHeadSize(reader: MetadataReader, width: number, heads: number): number {
  const keySize = reader.integer("attention.key_length", SIZE);
  const valueSize = reader.integer("attention.value_length", SIZE);
  const headSize = keySize ?? width / heads;
  if (!Number.isInteger(headSize))
    throw reader.fail(`embedding_length ${width} does not divide by ${heads} heads`);
  if ((valueSize ?? width / heads) !== headSize) {
    throw reader.fail(
      `keys have ${headSize} values a head, but values ${valueSize ?? width / heads}; they must agree`,
    );
  }
  return headSize;
}

/** Rows of the embedding; `vocab_size` may be absent, and where it says otherwise llama.cpp does not mind. */
function readVocabulary(reader: MetadataReader, gguf: Gguf): number {
  const rows = gguf.tensors.get("token_embd.weight")?.shape[1];
  const tokens = reader.arrayLength("tokenizer.ggml.tokens");
  if (gguf.tensors.size === 0) {
    throw new SluiceError(
      "unsupported",
      `${gguf.path} holds a vocabulary only: there are no weights to run`,
      {
        next: "It can be used with `sluice tokenize`; to run the model, give the file with its weights.",
      },
    );
  }
  if (rows === undefined) throw reader.fail("the tensor token_embd.weight is missing or no matrix");
  if (tokens !== undefined && tokens !== rows) {
    throw reader.fail(`token_embd.weight has ${rows} rows for ${tokens} tokens`);
  }
  return rows;
}

/** In encoders a token attends to those behind it too. */
function refuseEncoders(reader: MetadataReader, path: string): void {
  if (reader.boolean("attention.causal") !== false) return;
  throw new SluiceError(
    "unsupported",
    `${path} is an encoder (attention.causal is false), which writes no text`,
    {
      next: "Use a model that generates text.",
    },
  );
}

function refuseExperts(reader: MetadataReader, path: string): void {
  const experts = reader.integer("expert_count", COUNT) ?? 0;
  if (experts === 0) return;
  throw new SluiceError(
    "unsupported",
    `${path} is a mixture of ${experts} experts, which sluice cannot run yet`,
    {
      next: "Use a dense model.",
    },
  );
}
