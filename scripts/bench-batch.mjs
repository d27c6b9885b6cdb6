// @ts-check
/**
 * How many times as fast as one sequence many are, in the same sweeps: tokens per second with answers only (all at work,
 * none at its prompt), and from beginning to end.
 *
 *     npm run build && node scripts/bench-batch.mjs [MODEL.gguf] [--parallel 1,8,32] [--dtype q8] [--ram 800M] [--kv f16]
 *         [--prompt 64] [--tokens 32] [--cache-dir DIR] [--cached] [--threads N] [--json]
 *
 * Weights are read past the page cache, unless --cached. Without a model a synthetic one is made: 16 layers, 150 MB in q8.
 * For the goal of the 3B model: GLIBC_TUNABLES=glibc.malloc.hugetlb=1 systemd-run --scope -p MemoryMax=1.5G node
 * scripts/bench-batch.mjs smollm3-3b-q8_0.gguf --dtype q8 --kv q8 --parallel 1,32
 */
import { mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { parseRam } from "../dist/cli/engine-options.js";
import { Model, unpack } from "../dist/index.js";
import { formatTable } from "../dist/timing/table.js";
import { makeModel, PRESETS } from "./synthetic/model.mjs";

const SHAPE = { layers: 16, width: 1024, feedForward: 2048, heads: 16, kvHeads: 4, context: 4096 };

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    parallel: { type: "string", default: "1,8,32" },
    dtype: { type: "string", default: "q8" },
    ram: { type: "string" },
    kv: { type: "string" },
    prompt: { type: "string", default: "64" },
    tokens: { type: "string", default: "32" },
    threads: { type: "string", default: String(availableParallelism()) },
    "cache-dir": { type: "string" },
    cached: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
  },
});
const counts = values.parallel.split(",").map(Number);
const [promptTokens, tokens] = [Number(values.prompt), Number(values.tokens)];
const dtype = /** @type {import("../dist/index.js").Dtype} */ (values.dtype);
const kvType = /** @type {import("../dist/index.js").KvType | undefined} */ (values.kv);

const root = mkdtempSync(join(tmpdir(), "sluice-bench-"));
try {
  let [path] = positionals;
  if (path === undefined) {
    path = join(root, "model.gguf");
    makeModel(path, { ...PRESETS["tiny"], ...SHAPE });
  }
  const { folder } = await unpack(path, { root: values["cache-dir"] ?? root, dtype });
  /** @type {Awaited<ReturnType<typeof measure>>[]} */
  const runs = [];
  for (const parallel of counts) runs.push(await measure(folder, parallel));
  if (values.json) console.log(JSON.stringify(runs));
  else {
    const rows = runs.map((run) => [
      String(run.parallel),
      run.answering.toFixed(2),
      `${(run.answering / runs[0].answering).toFixed(1)} x`,
      run.whole.toFixed(2),
      (run.msPerSweep / 1000).toFixed(3),
      (run.peakRssBytes / 1e6).toFixed(0),
    ]);
    const head = ["sequences", "tokens/s", "of the first", "with prompts", "s/sweep", "peak MB"];
    for (const line of formatTable([head, ...rows])) console.log(line);
  }
} finally {
  rmSync(root, { recursive: true, force: true });
}

/**
 * @param {string} folder of the unpacked model
 * @param {number} parallel
 */
async function measure(folder, parallel) {
  const model = await Model.open(folder, {
    parallel,
    kvType,
    threads: Number(values.threads),
    contextLength: promptTokens + tokens,
    ...(values.ram && { ram: parseRam(values.ram) }),
    ...(!values.cached && { direct: true }),
  });
  // Tokens all over the vocabulary, none of which a prompt has in common with another.
  const { vocabulary } = model.manifest.model;
  const requests = Array.from({ length: parallel }, (_, which) => ({
    prompt: Array.from(
      { length: promptTokens },
      (_, i) => (Math.imul(which * promptTokens + i + 1, 2654435761) >>> 0) % vocabulary,
    ),
    sampling: { seed: which, temperature: 1 },
    maxTokens: tokens,
  }));
  /** @type {{ ms: number, generated: number, sweeps: number }[]} */
  const answering = [];
  const batch = model.batch(requests, {
    onProgress: ({ ms, generated, sweeps, running, prefilling, layer, layers }) => {
      const whole = prefilling === 0 && generated > 0 && layer === layers;
      if (whole && (running === parallel || answering.length < 2)) answering.push({ ms, generated, sweeps });
    },
  });
  try {
    for (;;) {
      const { done, value } = await batch.next();
      if (!done) continue;
      const [first, last] = [answering[0], answering[answering.length - 1]];
      const ms = last.ms - first.ms;
      return {
        parallel,
        answering: ((last.generated - first.generated) * 1000) / ms,
        whole: (value.generated * 1000) / value.ms,
        msPerSweep: ms / (last.sweeps - first.sweeps),
        peakRssBytes: process.resourceUsage().maxRSS * 1024,
      };
    }
  } finally {
    await model.close();
  }
}
