import { describe, expect, it } from "vitest";
import { readHyperparameters } from "../../src/model/hyperparameters.ts";
import { float32, int32, string, syntheticGguf, uint32, type Values } from "./synthetic-gguf.ts";

const read = (values: Values = {}) => readHyperparameters(syntheticGguf(values));

describe("readHyperparameters", () => {
  it("reads a llama model, with defaults for what may be absent", () => {
    const layer = { heads: 4, kvHeads: 2, feedForward: 64, rope: true };
    expect(read()).toEqual({
      architecture: "llama",
      name: "test.gguf",
      contextLength: 128,
      width: 32,
      headSize: 8,
      vocabulary: 100,
      normEpsilon: 0.5,
      rope: { dimensions: 8, base: 10_000, positionScale: 1, style: "norm" },
      layers: [layer, layer],
      tiedOutput: true,
    });
  });

  it.each(["n/a", "N/A", "", " ", "None", "unknown"])(
    "takes the file's name where the model is called %j",
    (name) => {
      expect(read({ "general.name": string(name) }).name).toBe("test.gguf");
      expect(read({ "general.name": string(`${name} X`) }).name).toBe(`${name} X`);
    },
  );

  it("takes names, heads, bases and per-layer sizes from the file", () => {
    const model = read({
      "general.name": string("A model"),
      "llama.attention.head_count": uint32(4),
      "llama.attention.head_count_kv": [4, 1],
      "llama.feed_forward_length": [64, 96],
      "llama.attention.key_length": uint32(16),
      "llama.attention.value_length": uint32(16),
      "llama.rope.freq_base": float32(500_000),
    });
    expect(model).toMatchObject({ name: "A model", headSize: 16, rope: { base: 500_000, dimensions: 16 } });
    expect(model.layers.map(({ kvHeads, feedForward }) => [kvHeads, feedForward])).toEqual([
      [4, 64],
      [1, 96],
    ]);
  });

  it("has as many key-value heads as heads where they are not given", () => {
    expect(read({ "llama.attention.head_count_kv": undefined }).layers[1].kvHeads).toBe(4);
  });

  it("accepts counts as uint64 and knows an output matrix", () => {
    expect(read({ "llama.block_count": { type: "uint64", value: 2n } }).layers.length).toBe(2);
    expect(readHyperparameters(syntheticGguf({}, { "output.weight": [32, 100] })).tiedOutput).toBe(false);
  });

  it("leaves rope out of every fourth layer of smollm3", () => {
    const values = {
      "general.architecture": string("smollm3"),
      "smollm3.block_count": uint32(9),
      "smollm3.context_length": uint32(128),
      "smollm3.embedding_length": uint32(32),
      "smollm3.feed_forward_length": uint32(64),
      "smollm3.attention.head_count": uint32(4),
      "smollm3.attention.layer_norm_rms_epsilon": float32(0.5),
    };
    const ropes = read(values).layers.map(({ rope }) => (rope ? 1 : 0));
    expect(ropes).toEqual([1, 1, 1, 0, 1, 1, 1, 0, 1]);
  });

  it("reads linear scaling in its old and new form, and llama3's factors", () => {
    const linear = { "llama.rope.scaling.type": string("linear"), "llama.rope.scaling.factor": float32(4) };
    expect(read(linear).rope.positionScale).toBe(0.25);
    expect(read({ "llama.rope.scale_linear": float32(2) }).rope.positionScale).toBe(0.5);
    expect(read({ ...linear, "llama.rope.scaling.type": string("none") }).rope.positionScale).toBe(1);
    const name = "rope_freqs.weight";
    const gguf = syntheticGguf({}, { [name]: [4] }, {}, { [name]: Float32Array.of(1, 2, 4, 8) });
    expect(readHyperparameters(gguf).rope.factors).toEqual([1, 2, 4, 8]);
    const zero = syntheticGguf({}, { [name]: [4] }, {}, { [name]: Float32Array.of(1, 0, 4, 8) });
    expect(() => readHyperparameters(zero)).toThrow("rope_freqs.weight holds 0");
    const short = syntheticGguf({}, { [name]: [3] }, {}, { [name]: Float32Array.of(1, 1, 1) });
    expect(() => readHyperparameters(short)).toThrow("rope_freqs.weight has shape [3]; it must be [4]");
  });

  it("reads yarn as factors and a magnitude", () => {
    const { rope } = read({
      "llama.attention.key_length": uint32(16),
      "llama.attention.value_length": uint32(16),
      "llama.rope.scaling.type": string("yarn"),
      "llama.rope.scaling.factor": float32(4),
      "llama.rope.scaling.original_context_length": uint32(256),
      "llama.rope.scaling.attn_factor": float32(0.5),
    });
    expect(rope.positionScale).toBe(1);
    expect(rope.magnitude).toBeCloseTo(0.5 * (0.1 * Math.log(4) + 1), 12);
    // Pairs up to 0 keep their frequencies, from 4 on they have a quarter.
    const mixed = [0, 1, 2, 3].map((pair) => 1 / (1 - (pair / 4) * 0.75));
    const factors = [...mixed, 4, 4, 4, 4];
    for (const [pair, factor] of factors.entries()) expect(rope.factors?.[pair]).toBeCloseTo(factor, 10);
  });

  it("knows the windows and rotations of Gemma", () => {
    const gemma = (arch: string, layers: number, values: Values = {}) =>
      read(
        Object.fromEntries([
          ["general.architecture", string(arch)],
          [`${arch}.block_count`, uint32(layers)],
          [`${arch}.context_length`, uint32(128)],
          [`${arch}.embedding_length`, uint32(36)],
          [`${arch}.feed_forward_length`, uint32(64)],
          [`${arch}.attention.head_count`, uint32(4)],
          [`${arch}.attention.key_length`, uint32(8)],
          [`${arch}.attention.value_length`, uint32(8)],
          [`${arch}.attention.layer_norm_rms_epsilon`, float32(0.5)],
          ...Object.entries(values).map(([key, value]) => [`${arch}.${key}`, value]),
        ]),
      );
    const two = gemma("gemma2", 3);
    expect(two.layers.map(({ window }) => window)).toEqual([4096, undefined, 4096]);
    expect(two).toMatchObject({ attentionCap: 50, logitCap: 30, activation: "gelu", embeddingScale: 6 });
    expect(two.localRope).toBeUndefined();
    expect([two.attentionScale, gemma("gemma2", 46).attentionScale]).toEqual([undefined, 1 / 3]);
    const three = gemma("gemma3", 7, {
      "attention.sliding_window": uint32(9),
      "rope.freq_base": float32(1e6),
    });
    expect(three.layers.map(({ window = 0 }) => window)).toEqual([9, 9, 9, 9, 9, 0, 9]);
    expect([three.rope.base, three.localRope?.base, three.logitCap]).toEqual([1e6, 1e4, undefined]);
    expect(gemma("gemma3", 7).layers[0].window).toBeUndefined();
    const other = { "attention.sliding_window": uint32(9), "attention.key_length_swa": uint32(4) };
    expect(() => gemma("gemma3", 7, other)).toThrow(
      "attention.key_length_swa is 4, and 8 in the other layers",
    );
  });

  it("reads longrope's factors", () => {
    const data = {
      "rope_factors_short.weight": Float32Array.of(1, 1, 1, 2),
      "rope_factors_long.weight": Float32Array.of(1, 4, 8, 16),
    };
    const shapes = { "rope_factors_short.weight": [4], "rope_factors_long.weight": [4] };
    const values = { "llama.rope.scaling.original_context_length": uint32(64) };
    const { rope } = readHyperparameters(syntheticGguf(values, shapes, {}, data));
    expect(rope).toMatchObject({ factors: [1, 1, 1, 2], longFactors: [1, 4, 8, 16], shortContext: 64 });
  });

  it.each<[string, Values, string]>([
    ["no architecture", { "general.architecture": undefined }, "general.architecture is missing"],
    [
      "a numeric architecture",
      { "general.architecture": uint32(1) },
      "is of type uint32; it must be a string",
    ],
    [
      "an unknown architecture",
      { "general.architecture": string("mamba") },
      '"mamba" is not supported; sluice runs llama, smollm3',
    ],
    ["no layers", { "llama.block_count": uint32(0) }, "llama.block_count is 0; it must be 1 to 4096"],
    ["too many layers", { "llama.block_count": uint32(4294967295) }, "llama.block_count is 4294967295"],
    ["negative layers", { "llama.block_count": int32(-1) }, "llama.block_count is -1"],
    ["layers as text", { "llama.block_count": string("2") }, "is of type string; it must be an integer"],
    ["missing layers", { "llama.block_count": undefined }, "llama.block_count is missing"],
    ["no context", { "llama.context_length": uint32(0) }, "llama.context_length is 0"],
    ["no width", { "llama.embedding_length": uint32(0) }, "llama.embedding_length is 0"],
    ["no heads", { "llama.attention.head_count": uint32(0) }, "llama.attention.head_count is 0"],
    [
      "heads that do not divide",
      { "llama.attention.head_count_kv": uint32(3) },
      "4 heads, which 3 key-value heads do not divide",
    ],
    [
      "a width that heads do not divide",
      { "llama.attention.head_count": uint32(6) },
      "embedding_length 32 does not divide by 6",
    ],
    ["too few items", { "llama.feed_forward_length": [64] }, "has 1 items for 2 layers"],
    ["a bad item", { "llama.feed_forward_length": [64, 0] }, "llama.feed_forward_length is 0"],
    [
      "keys unlike values",
      { "llama.attention.key_length": uint32(16) },
      "keys have 16 values a head, but values 8",
    ],
    [
      "an epsilon of zero",
      { "llama.attention.layer_norm_rms_epsilon": float32(0) },
      "is 0; it must be above 0",
    ],
    ["an epsilon of NaN", { "llama.attention.layer_norm_rms_epsilon": float32(Number.NaN) }, "is NaN"],
    [
      "an infinite base",
      { "llama.rope.freq_base": float32(Number.POSITIVE_INFINITY) },
      "rope.freq_base is Infinity",
    ],
    ["half a head rotated", { "llama.rope.dimension_count": uint32(4) }, "rope.dimension_count is 4"],
    [
      "an odd head",
      { "llama.attention.key_length": uint32(7), "llama.attention.value_length": uint32(7) },
      "it must be even",
    ],
    [
      "an unknown scaling",
      { "llama.rope.scaling.type": string("dynamic") },
      'positions are scaled by "dynamic"; sluice knows none, linear, yarn, longrope',
    ],
    ["experts", { "llama.expert_count": uint32(8) }, "a mixture of 8 experts"],
    ["an encoder", { "llama.attention.causal": { type: "bool", value: false } }, "is an encoder"],
    [
      "more tokens than rows",
      { "tokenizer.ggml.tokens": { type: "array", items: "string", length: 101, offset: 0, bytes: 0 } },
      "token_embd.weight has 100 rows for 101 tokens",
    ],
  ])("refuses %s", (_, values, message) => {
    expect(() => read(values)).toThrow(message);
  });
});
