/** config.json of a Hugging Face model as metadata of GGUF (llama.cpp, convert_hf_to_gguf.py and gguf-py/constants.py). */
import { SluiceError } from "../errors.ts";
import type { MetadataValue } from "../gguf/types.ts";

type Json = Readonly<Record<string, unknown>>;

export interface Converted {
  /** As `general.architecture`. */
  readonly architecture: string;
  readonly metadata: ReadonlyMap<string, Exclude<MetadataValue, { type: "array" }>>;
  /** Heads of q and k, whose rows GGUF has in another order; absent where the order is the same. */
  readonly reordered?: { readonly heads: number; readonly kvHeads: number; readonly headSize: number };
  /** Divisors of the frequencies of RoPE, where the scaling gives each its own. */
  readonly ropeFactors?: Float32Array;
  readonly tied: boolean;
}

/** By `model_type`: the name in GGUF, and whether pairs of RoPE are half a head apart there too. */
const ARCHITECTURES: Readonly<Record<string, { readonly name: string; readonly halves: boolean }>> = {
  llama: { name: "llama", halves: false },
  mistral: { name: "llama", halves: false },
  smollm3: { name: "smollm3", halves: false },
  qwen2: { name: "qwen2", halves: true },
  qwen3: { name: "qwen3", halves: true },
};

/**
 * @param path of the file, for errors
 * @throws SluiceError `unsupported` for an architecture or a setting that is not known, `bad-model` for numbers that are
 *   missing or make no sense
 */
export function convertConfig(config: Json, path: string): Converted {
  const reader = new Reader(config, path);
  const type = String(config["model_type"]);
  if (!Object.hasOwn(ARCHITECTURES, type))
    throw unsupported(
      path,
      `is of model_type ${JSON.stringify(config["model_type"] ?? null)}; of Hugging Face folders sluice reads ${Object.keys(ARCHITECTURES).join(", ")}`,
    );
  if (config["quantization_config"] !== undefined && config["quantization_config"] !== null)
    throw unsupported(path, "says that the weights are quantized (quantization_config)");
  const activation = config["hidden_act"] ?? "silu";
  if (activation !== "silu") throw unsupported(path, `has the activation ${JSON.stringify(activation)}`);
  const { name, halves } = ARCHITECTURES[type];

  const width = reader.integer("hidden_size");
  const layers = reader.integer("num_hidden_layers");
  const heads = reader.integer("num_attention_heads");
  const kvHeads = reader.integer("num_key_value_heads", heads);
  const headSize = reader.integer("head_dim", Math.floor(width / heads));
  if (name === "smollm3") checkRotation(config, layers, path);
  const metadata = new Map<string, Exclude<MetadataValue, { type: "array" }>>();
  const uint = (key: string, value: number) => metadata.set(`${name}.${key}`, { type: "uint32", value });
  const float = (key: string, value: number) => metadata.set(`${name}.${key}`, { type: "float32", value });
  metadata.set("general.architecture", { type: "string", value: name });
  uint("block_count", layers);
  uint("context_length", contextLength(reader, config, type));
  uint("embedding_length", width);
  uint("feed_forward_length", reader.integer("intermediate_size"));
  uint("attention.head_count", heads);
  uint("attention.head_count_kv", kvHeads);
  uint("attention.key_length", headSize);
  uint("attention.value_length", headSize);
  uint("rope.dimension_count", headSize);
  uint("vocab_size", reader.integer("vocab_size"));
  float("attention.layer_norm_rms_epsilon", reader.number("rms_norm_eps"));
  const ropeFactors = convertRope(reader, headSize, uint, float, (value) =>
    metadata.set(`${name}.rope.scaling.type`, { type: "string", value }),
  );
  return {
    architecture: name,
    metadata,
    tied: config["tie_word_embeddings"] === true,
    ...(!halves && { reordered: { heads, kvHeads, headSize } }),
    ...(ropeFactors && { ropeFactors }),
  };
}

/**
 * Positions that a model can be used with. Where some layers see a window only, no more than that: within it they are as
 * all others, and GGUF has no place for windows of these architectures.
 */
function contextLength(reader: Reader, config: Json, type: string): number {
  const trained = reader.integer("max_position_embeddings");
  const window = config["sliding_window"];
  // Mistral's configuration has one or null, Qwen's one that counts only where it says so.
  const used = type === "mistral" || config["use_sliding_window"] === true;
  return used && typeof window === "number" ? Math.min(trained, reader.integer("sliding_window")) : trained;
}

/** Every fourth layer goes without rotation: nothing in GGUF tells of another order. */
function checkRotation(config: Json, layers: number, path: string): void {
  const rotated = config["no_rope_layers"];
  if (rotated === undefined || rotated === null) return;
  const usual = Array.from({ length: layers }, (_, layer) => Number((layer + 1) % 4 !== 0));
  if (JSON.stringify(rotated) !== JSON.stringify(usual))
    throw unsupported(path, "rotates other layers than three of four (no_rope_layers)");
}

/** Base and scaling; newer files have both in `rope_parameters`. @returns factors of Llama 3 */
function convertRope(
  reader: Reader,
  headSize: number,
  uint: (key: string, value: number) => void,
  float: (key: string, value: number) => void,
  scalingType: (type: string) => void,
): Float32Array | undefined {
  const parameters = reader.object("rope_parameters") ?? reader.object("rope_scaling");
  const base = reader.object("rope_parameters")?.number("rope_theta") ?? reader.number("rope_theta", 10_000);
  float("rope.freq_base", base);
  const type = parameters?.text("rope_type") ?? parameters?.text("type") ?? "default";
  if (parameters === undefined || type === "default") return undefined;
  const factor = parameters.number("factor");
  if (type === "linear") {
    scalingType("linear");
    float("rope.scaling.factor", factor);
    return undefined;
  }
  if (type === "yarn") {
    scalingType("yarn");
    float("rope.scaling.factor", factor);
    uint("rope.scaling.original_context_length", parameters.integer("original_max_position_embeddings"));
    for (const name of ["beta_fast", "beta_slow"])
      if (parameters.has(name)) float(`rope.scaling.yarn_${name}`, parameters.number(name));
    const unknown = ["attention_factor", "mscale", "mscale_all_dim"].find((name) => parameters.has(name));
    if (unknown !== undefined) throw unsupported(reader.path, `scales positions by yarn with ${unknown}`);
    if (parameters.flag("truncate") === false)
      throw unsupported(reader.path, "scales positions by yarn without rounding (truncate)");
    return undefined;
  }
  if (type !== "llama3") throw unsupported(reader.path, `scales positions by ${JSON.stringify(type)}`);
  return llama3Factors(base, headSize, {
    factor,
    low: parameters.number("low_freq_factor"),
    high: parameters.number("high_freq_factor"),
    context: parameters.integer("original_max_position_embeddings"),
  });
}

/** Slow pairs are slowed down, fast ones stay, and those between go from one to the other (transformers, modeling_rope_utils.py). */
function llama3Factors(
  base: number,
  headSize: number,
  { factor, low, high, context }: { factor: number; low: number; high: number; context: number },
): Float32Array {
  return Float32Array.from({ length: headSize / 2 }, (_, pair) => {
    const wavelength = 2 * Math.PI * base ** ((2 * pair) / headSize);
    if (wavelength < context / high) return 1;
    if (wavelength > context / low) return factor;
    const smooth = (context / wavelength - low) / (high - low);
    return 1 / ((1 - smooth) / factor + smooth);
  });
}

class Reader {
  readonly path: string;
  readonly #values: Json;

  constructor(values: Json, path: string) {
    this.#values = values;
    this.path = path;
  }

  object(key: string): Reader | undefined {
    const value = this.#values[key];
    return typeof value === "object" && value !== null ? new Reader(value as Json, this.path) : undefined;
  }

  has(key: string): boolean {
    return (this.#values[key] ?? null) !== null;
  }

  flag(key: string): boolean | undefined {
    const value = this.#values[key];
    return typeof value === "boolean" ? value : undefined;
  }

  text(key: string): string | undefined {
    const value = this.#values[key];
    return typeof value === "string" ? value : undefined;
  }

  integer(key: string, otherwise?: number): number {
    const value = this.#values[key] ?? otherwise;
    if (Number.isSafeInteger(value) && (value as number) > 0 && (value as number) < 2 ** 31)
      return value as number;
    throw this.#wrong(key, "a whole number above zero");
  }

  number(key: string, otherwise?: number): number {
    const value = this.#values[key] ?? otherwise;
    if (Number.isFinite(value) && (value as number) > 0) return value as number;
    throw this.#wrong(key, "a number above zero");
  }

  #wrong(key: string, wanted: string): SluiceError {
    const found = JSON.stringify(this.#values[key] ?? null).slice(0, 40);
    return new SluiceError("bad-model", `${this.path}: ${key} is ${found}; it must be ${wanted}`, {
      next: "Download the model again.",
    });
  }
}

function unsupported(path: string, problem: string): SluiceError {
  return new SluiceError("unsupported", `${path} ${problem}`, {
    next: "Use a GGUF file of the model, if there is one.",
  });
}
