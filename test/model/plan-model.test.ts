import { describe, expect, it } from "vitest";
import { planModel } from "../../src/model/plan-model.ts";
import { syntheticGguf } from "./synthetic-gguf.ts";

const planWith = (tensors: Record<string, number[] | undefined>, types: Record<string, string> = {}) =>
  planModel(syntheticGguf({}, tensors, types));

describe("planModel", () => {
  it("lists the tensors of a layer in the order of use", () => {
    const { embedding, layers, output } = planModel(syntheticGguf());
    expect(embedding).toEqual({
      role: "token_embd",
      sources: ["token_embd.weight"],
      sourceTypes: ["f32"],
      kind: "matrix",
      rows: 100,
      columns: 32,
    });
    expect(
      layers[1].map(({ role, sources, kind, rows, columns }) => [role, sources.join(), kind, rows, columns]),
    ).toEqual([
      ["attn_norm", "blk.1.attn_norm.weight", "vector", 1, 32],
      ["attn_q", "blk.1.attn_q.weight", "matrix", 32, 32],
      ["attn_k", "blk.1.attn_k.weight", "matrix", 16, 32],
      ["attn_v", "blk.1.attn_v.weight", "matrix", 16, 32],
      ["attn_output", "blk.1.attn_output.weight", "matrix", 32, 32],
      ["ffn_norm", "blk.1.ffn_norm.weight", "vector", 1, 32],
      ["ffn_gate_up", "blk.1.ffn_gate.weight,blk.1.ffn_up.weight", "matrix", 128, 32],
      ["ffn_down", "blk.1.ffn_down.weight", "matrix", 32, 64],
    ]);
    expect(output.map(({ role }) => role)).toEqual(["output_norm"]);
  });

  it("has an output matrix where the file has one", () => {
    const { output } = planWith({ "output.weight": [32, 100] });
    expect(output[1]).toMatchObject({ role: "output", kind: "matrix", rows: 100, columns: 32 });
  });

  it("takes apart q, k and v in one tensor, and gate and up", () => {
    const { layers } = planWith({
      "blk.0.attn_q.weight": undefined,
      "blk.0.attn_k.weight": undefined,
      "blk.0.attn_v.weight": undefined,
      "blk.0.attn_qkv.weight": [32, 64],
      "blk.0.attn_qkv.bias": [64],
      "blk.0.ffn_gate.weight": undefined,
      "blk.0.ffn_up.weight": [32, 128],
    });
    const biases = layers[0].filter(({ role }) => role.endsWith("_bias"));
    expect(biases.map(({ role, columns }) => [role, columns])).toEqual([
      ["attn_q_bias", 32],
      ["attn_k_bias", 16],
      ["attn_v_bias", 16],
    ]);
    const rest = layers[0].filter(({ role }) => !role.endsWith("_bias"));
    expect(rest).toEqual(
      layers[1].map((plan) => ({ ...plan, sources: plan.sources.map((name) => name.replace("1", "0")) })),
    );
  });

  it("takes shapes with ones at the end, tables that nobody needs, and every supported type", () => {
    planWith({ "output_norm.weight": [32, 1, 1], "blk.0.attn_rot_embd.weight": [4] });
    planWith({}, { "blk.0.attn_q.weight": "q4_1", "output_norm.weight": "f16" });
  });

  it.each<[string, Record<string, number[] | undefined>, string]>([
    ["a missing tensor", { "blk.1.ffn_up.weight": undefined }, "the tensor blk.1.ffn_up.weight is missing"],
    ["a missing norm", { "output_norm.weight": undefined }, "the tensor output_norm.weight is missing"],
    ["a missing embedding", { "token_embd.weight": undefined }, "token_embd.weight is missing or no matrix"],
    [
      "a turned matrix",
      { "blk.0.ffn_down.weight": [32, 64] },
      "blk.0.ffn_down.weight has shape [32, 64]; expected [64, 32]",
    ],
    ["a third dimension", { "blk.0.attn_q.weight": [32, 32, 2] }, "has shape [32, 32, 2]; expected [32, 32]"],
    ["an empty matrix", { "blk.0.attn_q.weight": [32, 0] }, "has shape [32, 0]; expected [32, 32]"],
    [
      "a bias that nothing is added to",
      { "blk.0.attn_norm.bias": [32] },
      'no use for the tensor "blk.0.attn_norm.bias", so answers would be wrong',
    ],
    ["a bias of another size", { "blk.0.attn_q.bias": [16] }, "has shape [16]; expected [32]"],
    [
      "q, k and v of other rows in one tensor",
      { "blk.0.attn_q.weight": undefined, "blk.0.attn_qkv.weight": [32, 63] },
      "the tensor blk.0.attn_q.weight is missing",
    ],
    [
      "layers too many",
      { "blk.2.attn_q.weight": [1], "blk.2.attn_k.weight": [1] },
      '"blk.2.attn_q.weight" (and 1 more)',
    ],
  ])("refuses %s", (_, tensors, message) => {
    expect(() => planWith(tensors)).toThrow(message);
  });

  it("refuses types that cannot be read, before anything is written", () => {
    expect(() => planWith({}, { "blk.1.ffn_down.weight": "q8_K" })).toThrow(
      'tensor "blk.1.ffn_down.weight" of type q8_K cannot be read',
    );
    expect(() => planWith({}, { "blk.1.ffn_norm.weight": "i32" })).toThrow("of type i32 cannot be read");
  });
});
