// @ts-check
/**
 * sluice and llama.cpp on the same model file, in turn, in the same memory cgroup, from a cold page cache.
 *
 *     npm run build && (cd test/oracle && npm ci)
 *     sudo node scripts/bench-peers.mjs MODEL.gguf [--dtype q8] [--runs 3] [--cases decode-1500M,…] [--read-ahead 128]
 *
 * Prints each case's medians and the ratio of sluice to llama.cpp. Needs root on Linux: for cgroups, and to drop the
 * page cache. The model is unpacked into `cache/` first. What llama.cpp reads from disk it reads by page faults, at a
 * speed that depends on how far the system reads ahead: 128 KB is what Linux does by itself (`--read-ahead` sets it
 * for the time of the measurement).
 */
import { availableParallelism, cpus } from "node:os";
import { basename, join } from "node:path";
import { parseArgs } from "node:util";
import { unpack } from "../dist/index.js";
import { measure, median, nodeVersion, readAhead, setReadAhead } from "./bench-peers/measure.mjs";

const root = join(import.meta.dirname, "..");

/**
 * @typedef {object} Case
 * @property {string} name
 * @property {string} limit of the cgroup, "" for none
 * @property {number} prompt tokens
 * @property {number} generate tokens; 0 measures the prompt
 * @property {string} [ram] sluice's budget
 * @property {boolean} [warm] leave the page cache as it is, and compute something before what is measured
 */

/** @type {Case[]} */
const CASES = [
  { name: "decode-512M", limit: "512M", prompt: 8, generate: 4 },
  { name: "decode-1500M", limit: "1500M", prompt: 8, generate: 6, ram: "1150e6" },
  { name: "decode-1500M-stream", limit: "1500M", prompt: 8, generate: 6 },
  { name: "decode-2500M", limit: "2500M", prompt: 8, generate: 6, ram: "2150e6" },
  { name: "prefill128-1500M", limit: "1500M", prompt: 128, generate: 0 },
  { name: "decode-memory", limit: "", prompt: 8, generate: 16, ram: "auto", warm: true },
  { name: "prefill128-memory", limit: "", prompt: 128, generate: 0, ram: "auto", warm: true },
];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    dtype: { type: "string", default: "q8" },
    runs: { type: "string", default: "3" },
    cases: { type: "string" },
    "cache-dir": { type: "string", default: join(root, "cache") },
    node: { type: "string", default: process.execPath },
    "read-ahead": { type: "string" },
  },
});
const [model] = positionals;
if (model === undefined || process.platform !== "linux" || process.getuid?.() !== 0) {
  console.error(
    "usage (Linux, root): node scripts/bench-peers.mjs MODEL.gguf [--dtype q8] [--runs 3] [--cases a,b] [--read-ahead KB]",
  );
  process.exit(2);
}
if (values["read-ahead"] !== undefined) setReadAhead(model, values["read-ahead"]);
const threads = String(availableParallelism());
const dtype = /** @type {import("../dist/index.js").Dtype} */ (values.dtype);
const { folder } = await unpack(model, { root: values["cache-dir"], dtype });
const chosen = CASES.filter(
  ({ name }) => values.cases === undefined || values.cases.split(",").includes(name),
);

console.log(
  `${cpus()[0].model}, ${threads} threads, Node ${nodeVersion(values.node)}, read-ahead ${readAhead(model)} KB, ${basename(model)}, dtype ${dtype}\n`,
);
console.log("| case | llama.cpp tok/s | sluice tok/s | ratio | llama.cpp peak MB | sluice peak MB |");
console.log("| --- | --- | --- | --- | --- | --- |");
for (const test of chosen) {
  /** @type {{ rate: number, peak: number }[]} */
  const theirs = [];
  /** @type {{ rate: number, peak: number }[]} */
  const ours = [];
  for (let run = 0; run < Number(values.runs); run++) {
    theirs.push(rate(test, [join(root, "test/oracle/bench.mjs"), model], []));
    const ram = test.ram ? [test.ram] : [];
    ours.push(rate(test, [join(root, "scripts/bench-peers/sluice.mjs"), join(root, "dist"), folder], ram));
  }
  const ratios = ours.map(({ rate }, i) => rate / theirs[i].rate);
  const cells = [
    test.name,
    median(theirs.map(({ rate }) => rate)).toFixed(2),
    median(ours.map(({ rate }) => rate)).toFixed(2),
    `${median(ratios).toFixed(2)} (${Math.min(...ratios).toFixed(2)}-${Math.max(...ratios).toFixed(2)})`,
    (median(theirs.map(({ peak }) => peak)) / 1e6).toFixed(0),
    (median(ours.map(({ peak }) => peak)) / 1e6).toFixed(0),
  ];
  console.log(`| ${cells.join(" | ")} |`);
}

/**
 * Run one engine once in the case's cgroup.
 *
 * @param {Case} test
 * @param {string[]} script
 * @param {string[]} more arguments
 */
function rate({ limit, prompt, generate, warm = false }, script, more) {
  const args = [...script, String(prompt), String(generate), threads, warm ? "warm" : "", ...more];
  const { prefillMs, decodeMs, peak } = measure({ limit, warm, node: values.node }, args);
  return { rate: generate === 0 ? (1000 * prompt) / prefillMs : 1000 / median(decodeMs), peak };
}
