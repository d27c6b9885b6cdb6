import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openGguf } from "../../src/gguf/open.ts";
import { blockFormat } from "../../src/quant/index.ts";
import { encode, type QuantizedType } from "../../src/quantize/encode.ts";
import { randomFloats, seeded } from "../random.ts";

const TYPES = ["q8_0", "q4_0", "q4_1", "q5_0", "q5_1", "q4_K", "q5_K", "q6_K"] as const;

function roundTrip(type: QuantizedType, x: Float32Array): Float32Array {
  const { blockSize, blockBytes, dequantize } = blockFormat(type);
  const blocks = new Uint8Array((x.length / blockSize) * blockBytes).fill(170);
  encode(type, x, blocks, x.length);
  const back = new Float32Array(x.length);
  dequantize(blocks, back, x.length);
  return back;
}

function squaredError(a: Float32Array, b: Float32Array): number {
  return a.reduce((sum, value, i) => sum + (value - b[i]) ** 2, 0);
}

describe.each(TYPES)("%s", (type) => {
  const bits = Number(type[1]);

  it("is as near as its bits allow", () => {
    const x = randomFloats(4096, seeded(3));
    const power = squaredError(x, new Float32Array(x.length));
    // Evenly spread weights in 2^bits levels; scales are rounded too.
    expect(Math.sqrt(squaredError(roundTrip(type, x), x) / power)).toBeLessThan(1.6 / 2 ** bits);
  });

  it("keeps zeros, and weights that it can hold", () => {
    expect(roundTrip(type, new Float32Array(256)).every((value) => value === 0)).toBe(true);
    const levels = Float32Array.from({ length: 256 }, (_, i) => (i % 15) - 7);
    const error = squaredError(roundTrip(type, levels), levels) / 256;
    expect(error).toBeLessThan(0.02);
  });

  it("of groups of very different sizes the small ones are not lost where each has a scale", () => {
    const x = randomFloats(256, seeded(5)).map((value, i) => value * (i < 128 ? 1 : 1 / 16));
    const back = roundTrip(type, x);
    const small = x.subarray(128);
    const error = squaredError(back.subarray(128), small) / squaredError(small, new Float32Array(128));
    expect(error).toBeLessThan(0.05);
  });
});

const vectors = new URL("../../../shared/vectors/models", import.meta.url).pathname;

/** llama.cpp's files of a model, and the weights that they were made of. */
describe.runIf(existsSync(vectors))("against llama.cpp's quantizer without an importance matrix", () => {
  const originals = existsSync(vectors) ? readOriginals(join(vectors, "hf/smollm3-gqa8")) : new Map();

  it.each(["Q8_0", "Q4_0", "Q5_0", "Q4_K_M", "Q5_K_M", "Q6_K"])("%s: no matrix is further off", (file) => {
    const gguf = openGguf(join(vectors, `quants/smollm3-${file}.gguf`));
    const compared = new Set<string>();
    for (const [name, tensor] of gguf.tensors) {
      const x = originals.get(name);
      if (!x) continue;
      const raw = new Uint8Array(tensor.bytes);
      gguf.read(tensor.offset, raw);
      const theirs = new Float32Array(x.length);
      blockFormat(tensor.type).dequantize(raw, theirs, x.length);
      const ours = roundTrip(tensor.type as QuantizedType, x);
      expect(squaredError(ours, x), name).toBeLessThanOrEqual(squaredError(theirs, x) * (1 + 1e-6));
      compared.add(tensor.type);
    }
    gguf.close();
    expect(compared.size).toBe({ Q8_0: 1, Q6_K: 1 }[file] ?? 2);
  });
});

/** By their names in GGUF; those of q and k are in another order there. */
function readOriginals(folder: string): Map<string, Float32Array> {
  const names = {
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
  };
  const found = new Map<string, Float32Array>();
  for (const part of [1, 2]) {
    const bytes = readFileSync(join(folder, `model-0000${part}-of-00002.safetensors`));
    const start = 8 + Number(bytes.readBigUInt64LE(0));
    const header: Record<string, { data_offsets?: [number, number] }> = JSON.parse(
      bytes.toString("utf8", 8, start),
    );
    for (const [name, { data_offsets }] of Object.entries(header)) {
      const layer = /^model\.layers\.(\d+)\.(.*)\.weight$/.exec(name);
      const role = layer && names[layer[2] as keyof typeof names];
      const known = name === "model.embed_tokens.weight" ? "token_embd" : role && `blk.${layer[1]}.${role}`;
      if (!known || !data_offsets) continue;
      const [from, to] = data_offsets.map((offset) => start + offset);
      found.set(`${known}.weight`, new Float32Array(Uint8Array.from(bytes.subarray(from, to)).buffer));
    }
  }
  return found;
}
