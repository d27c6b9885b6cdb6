// @ts-check
/**
 * How a token's time grows with the context: for positions up to the end, milliseconds a token, what of it attention
 * should take by the engine's own rehearsal of it, and the bytes of the KV cache.
 *
 *     npm run build && node scripts/bench-context.mjs [MODEL.gguf] [--kv f32|f16|q8] [--dtype q8] [--positions 8192] [--threads N]
 *
 * Without a model a synthetic one is made: 8 layers, 16 heads of 64 over 4 heads of keys and values.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Engine } from "../dist/engine/engine.js";
import { rehearse } from "../dist/engine/rehearsal.js";
import { openCache, unpack } from "../dist/index.js";
import { formatTable } from "../dist/timing/table.js";
import { makeModel, PRESETS } from "./synthetic/model.mjs";

const SHAPE = { layers: 8, width: 1024, feedForward: 2048, heads: 16, kvHeads: 4, context: 8192 };
/** Tokens that are timed at each place; the fastest counts, as if nothing else ran. */
const TOKENS = 5;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    kv: { type: "string", default: "f16" },
    dtype: { type: "string", default: "q8" },
    positions: { type: "string", default: "8192" },
    threads: { type: "string", default: String(availableParallelism()) },
  },
});
const kvType = /** @type {import("../dist/kernels/types.js").KvType} */ (values.kv);
const dtype = /** @type {import("../dist/index.js").Dtype} */ (values.dtype);
const [positions, threads] = [Number(values.positions), Number(values.threads)];

const root = mkdtempSync(join(tmpdir(), "sluice-context-"));
try {
  let [path] = positionals;
  if (path === undefined) {
    path = join(root, "model.gguf");
    makeModel(path, { ...PRESETS["tiny"], ...SHAPE });
  }
  const { folder } = await unpack(path, { root, dtype });
  const cache = openCache(folder);
  const { model, layers } = cache.manifest;
  const [{ attention }] = await rehearse(model, [{ tensors: layers[0].tensors, kvType }], threads);
  const engine = new Engine(cache, { threads, kvType, contextLength: positions, ram: "auto" });
  const sequence = engine.createSequence(positions);
  /**
   * Milliseconds of the fastest of some sweeps. What lies in the KV cache does not matter to the time: positions that
   * were never computed are zeros.
   *
   * @param {number} first @param {number} count @param {number} times
   */
  const fastest = async (first, count, times) => {
    const rows = Array.from({ length: count }, (_, i) => ({
      ...{ sequence, position: first + i, token: i % 250, logits: i === count - 1 },
    }));
    let best = Number.POSITIVE_INFINITY;
    for (let run = 0; run < times; run++) best = Math.min(best, (await engine.sweep(rows)).timing.ms);
    return best;
  };
  const table = [["positions", "ms/token", "by attention", "share", "foretold", "KV MB", "prompt t/s"]];
  const alone = await fastest(0, 1, 4 * TOKENS);
  for (let place = 512; place <= positions; place *= 2) {
    const rows = Math.min(engine.maximumRows, place);
    const prompt = await fastest(place - rows, rows, 1);
    const token = await fastest(place - 1, 1, TOKENS);
    table.push([
      String(place),
      token.toFixed(2),
      (token - alone).toFixed(2),
      `${((100 * (token - alone)) / token).toFixed(0)} %`,
      (attention * place * model.layers.length * 1000).toFixed(2),
      (sequence.bytes / 1e6).toFixed(1),
      ((rows / prompt) * 1000).toFixed(0),
    ]);
  }
  await engine.close();
  console.log(`${model.layers.length} layers, KV ${kvType}, ${threads} threads, Node.js ${process.version}`);
  console.log(formatTable(table).join("\n"));
} finally {
  rmSync(root, { recursive: true, force: true });
}
