// @ts-check
/**
 * What each technique brings: sluice as it is, with all of them left out, and then added one after the other.
 *
 *     npm run build
 *     sudo node scripts/bench-techniques.mjs MODEL.gguf [--dtype q8] [--runs 3] [--limit 1500M]
 *
 * Each variant is the built program with a line or two replaced, in a copy of `dist`. Needs root on Linux.
 */
import { cpSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, cpus } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { unpack } from "../dist/index.js";
import { measure, median, nodeVersion } from "./bench-peers/measure.mjs";

const root = join(import.meta.dirname, "..");

/** @typedef {{ file: string, from: string, to: string }} Change */

/** @type {Record<string, Change[]>} */
const WITHOUT = {
  "read-ahead": [{ file: "stream/ring.js", from: "const SLOTS = 10;", to: "const SLOTS = 1;" }],
  wrap: [
    {
      file: "stream/reader-worker.js",
      from: "for (let sweep = 0;; sweep++) {",
      to: "for (let sweep = 0;; sweep++) { control.waitForJob(sweep);",
    },
  ],
  batches: [{ file: "stream/ring.js", from: "BATCH_CHUNKS = SLOTS / 2", to: "BATCH_CHUNKS = 1" }],
  kernels: [
    {
      file: "engine/compute-worker.js",
      from: 'import { createRelaxedKernels, createWasmKernels } from "../kernels/wasm.js";',
      to: `import { createReferenceKernels } from "../kernels/reference.js";
const createWasmKernels = (module, memory) => createReferenceKernels(memory.buffer);
const createRelaxedKernels = () => undefined;`,
    },
  ],
};

/** @type {{ name: string, without: string[], hugePages: boolean, ram?: string }[]} */
const VARIANTS = [
  { name: "plain", without: ["kernels", "read-ahead", "wrap", "batches"], hugePages: false },
  { name: "+ kernels", without: ["read-ahead", "wrap", "batches"], hugePages: false },
  { name: "+ read-ahead", without: ["wrap", "batches"], hugePages: false },
  { name: "+ wrap", without: ["batches"], hugePages: false },
  { name: "+ huge pages", without: ["batches"], hugePages: true },
  { name: "+ reads of half the ring", without: [], hugePages: true },
  { name: "+ budget of 1.15 GB", without: [], hugePages: true, ram: "1150e6" },
];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    dtype: { type: "string", default: "q8" },
    runs: { type: "string", default: "3" },
    limit: { type: "string", default: "1500M" },
    "cache-dir": { type: "string", default: join(root, "cache") },
    node: { type: "string", default: process.execPath },
  },
});
const [model] = positionals;
if (model === undefined || process.platform !== "linux" || process.getuid?.() !== 0) {
  console.error("usage (Linux, root): node scripts/bench-techniques.mjs MODEL.gguf [--dtype q8] [--runs 3]");
  process.exit(2);
}
const dtype = /** @type {import("../dist/index.js").Dtype} */ (values.dtype);
const { folder } = await unpack(model, { root: values["cache-dir"], dtype });
const threads = String(availableParallelism());
const circumstances = { limit: values.limit, node: values.node };

console.log(
  `${cpus()[0].model}, ${threads} threads, Node ${nodeVersion(values.node)}, ${values.limit}, dtype ${dtype}\n`,
);
console.log("| variant | seconds a token | of the disk alone | peak MB |");
console.log("| --- | --- | --- | --- |");
/** @type {Map<string, { seconds: number, peak: number }[]>} */
const results = new Map();
const add = (
  /** @type {string} */ name,
  /** @type {{ decodeMs: number[], peak: number }} */ { decodeMs, peak },
) => {
  const seconds = median(decodeMs) / 1000;
  results.set(name, [...(results.get(name) ?? []), { seconds, peak }]);
};
for (let run = 0; run < Number(values.runs); run++) {
  add(
    "disk alone",
    measure(circumstances, [join(root, "scripts/bench-peers/disk.mjs"), join(root, "dist"), folder, "5"]),
  );
  for (const { name, without, hugePages, ram } of VARIANTS) {
    const dist = changed(without.flatMap((technique) => WITHOUT[technique]));
    const args = [join(root, "scripts/bench-peers/sluice.mjs"), dist, folder, "2", "5", threads, ""];
    add(name, measure({ ...circumstances, hugePages }, ram ? [...args, ram] : args));
    rmSync(dist, { recursive: true });
  }
}
const disk = median((results.get("disk alone") ?? []).map(({ seconds }) => seconds));
for (const [name, runs] of results) {
  const seconds = median(runs.map((run) => run.seconds));
  const peak = median(runs.map((run) => run.peak));
  console.log(
    `| ${name} | ${seconds.toFixed(2)} | ${Math.round((100 * disk) / seconds)} % | ${(peak / 1e6).toFixed(0)} |`,
  );
}

/**
 * A copy of the built program with some lines replaced; beside it, for it needs the same packages.
 *
 * @param {Change[]} changes
 */
function changed(changes) {
  const copy = join(root, "dist-variant");
  rmSync(copy, { recursive: true, force: true });
  cpSync(join(root, "dist"), copy, { recursive: true });
  for (const { file, from, to } of changes) {
    const text = readFileSync(join(copy, file), "utf8");
    if (!text.includes(from))
      throw new Error(`${file} has no "${from}" any more: mend scripts/bench-techniques.mjs`);
    writeFileSync(join(copy, file), text.replace(from, to));
  }
  return copy;
}
