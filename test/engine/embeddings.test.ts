import { afterAll, describe, expect, it } from "vitest";
import { compareEmbeddings } from "../../src/engine/embeddings.ts";
import { openGguf } from "../../src/gguf/open.ts";
import { blockFormat } from "../../src/quant/index.ts";
import { modelFolder } from "./model-fixture.ts";

const models = modelFolder();
afterAll(() => models.remove());

/** The whole table, straight from the model file. */
function tableOf(path: string): number[][] {
  const gguf = openGguf(path);
  const { type, shape, offset, bytes } = gguf.tensors.get("token_embd.weight")!;
  const [columns, rows] = shape;
  const raw = new Uint8Array(bytes);
  gguf.read(offset, raw);
  gguf.close();
  const values = new Float32Array(columns * rows);
  blockFormat(type).dequantize(raw, values, values.length);
  return Array.from({ length: rows }, (_, row) => [...values.subarray(row * columns, (row + 1) * columns)]);
}

const product = (a: readonly number[], b: readonly number[]) => a.reduce((sum, x, i) => sum + x * b[i], 0);
const cosine = (a: readonly number[], b: readonly number[]) =>
  product(a, b) / Math.sqrt(product(a, a) * product(b, b));

describe("compareEmbeddings", () => {
  // 4001 rows of 96 floats are more than one chunk, and fill no panel.
  it.each([
    ["f32", { type: "f32", vocabulary: 4001, width: 96 }, {}, 1e-6],
    ["q8", {}, { dtype: "q8" }, 1e-6],
    ["f16", { type: "f16" }, { dtype: "native" }, 1e-6],
  ] as const)("%s: as computed from the model file", async (_, changes, options, within) => {
    const path = models.make(changes);
    const table = tableOf(path);
    const texts = [[7], [100, 3], [250, 250, 4]];
    const means = texts.map((ids) =>
      table[0].map((_, i) => ids.reduce((sum, id) => sum + table[id][i], 0) / ids.length),
    );
    const rows: number[] = [];
    const got = await compareEmbeddings(await models.unpack(path, options), texts, {
      nearest: 4,
      onProgress: (done) => rows.push(done),
    });
    expect(rows[rows.length - 1]).toBe(table.length);
    expect(rows.length).toBe(
      Math.ceil((table.length * table[0].length * 4) / 2 ** 20 / (_ === "f32" ? 1 : 99)),
    );
    for (const a of means.keys())
      for (const b of means.keys()) {
        expect(Math.abs(got.dot[a][b] - product(means[a], means[b]))).toBeLessThan(within);
        expect(Math.abs(got.cosine[a][b] - cosine(means[a], means[b]))).toBeLessThan(within);
      }
    for (const [index, { norm, nearest }] of got.texts.entries()) {
      expect(norm).toBeCloseTo(Math.sqrt(product(means[index], means[index])), 5);
      const want = [...table.keys()]
        .filter((id) => !texts[index].includes(id))
        .map((id) => ({ id, cosine: cosine(means[index], table[id]) }))
        .sort((a, b) => b.cosine - a.cosine)
        .slice(0, 4);
      expect(nearest.map(({ id }) => id)).toEqual(want.map(({ id }) => id));
      for (const [rank, { id, cosine: near, dot }] of nearest.entries()) {
        expect(near).toBeCloseTo(want[rank].cosine, 5);
        expect(dot).toBeCloseTo(product(means[index], table[id]), 5);
      }
    }
    const { tokens, points } = got.projection;
    expect(points).toHaveLength(3 + tokens.length);
    expect(new Set(tokens)).toEqual(new Set(got.texts.flatMap(({ nearest }) => nearest.map(({ id }) => id))));
  });

  it("can be stopped, and refuses what makes no sense", async () => {
    const folder = await models.unpack(models.make());
    await expect(compareEmbeddings(folder, [[1]], { signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: "aborted",
    });
    await expect(compareEmbeddings(folder, [[]])).rejects.toMatchObject({ code: "bad-input" });
    await expect(compareEmbeddings(folder, [[1e6]])).rejects.toMatchObject({ code: "bad-input" });
    expect((await compareEmbeddings(folder, [[1]], { nearest: 0 })).texts[0].nearest).toEqual([]);
  });
});
