// @ts-check
/**
 * What guessing ahead brings: llama.cpp, sluice without guesses and sluice with them, in turn, in the same memory cgroup,
 * from a cold page cache. Whether a guessed token holds is left to chance, for the weights are random; all work is done.
 *
 *     npm run build && (cd test/oracle && npm ci)
 *     sudo node scripts/bench-drafts.mjs MODEL.gguf [--runs 3] [--cases shadow-2500M,…] [--read-ahead 128] [--disk 500M]
 *
 * `--disk` holds the disk down to so many bytes a second, for all of them (blkio cgroup). Needs root on Linux.
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
 * @property {string} limit of the cgroup
 * @property {string} draft
 * @property {number} acceptance
 * @property {string} [ram] budget, with guesses and without
 * @property {number} tokens
 */

/** @type {Case[]} */
const CASES = [
  { name: "shadow-2500M", limit: "2500M", draft: "shadow", acceptance: 0.93, ram: "2150e6", tokens: 64 },
  { name: "shadow-1500M", limit: "1500M", draft: "shadow", acceptance: 0.85, ram: "1150e6", tokens: 48 },
  { name: "lookup-1500M", limit: "1500M", draft: "lookup", acceptance: 0.95, tokens: 64 },
  { name: "nothing-holds", limit: "1500M", draft: "lookup", acceptance: 0, tokens: 24 },
];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    runs: { type: "string", default: "3" },
    cases: { type: "string" },
    "cache-dir": { type: "string", default: join(root, "cache") },
    node: { type: "string", default: process.execPath },
    "read-ahead": { type: "string" },
    disk: { type: "string" },
  },
});
const [model] = positionals;
if (model === undefined || process.platform !== "linux" || process.getuid?.() !== 0) {
  console.error("usage (Linux, root): node scripts/bench-drafts.mjs MODEL.gguf [--runs 3] [--cases a,b]");
  process.exit(2);
}
if (values["read-ahead"] !== undefined) setReadAhead(model, values["read-ahead"]);
const disk = values.disk ? { path: model, bytes: values.disk } : undefined;
const threads = String(availableParallelism());
const { folder } = await unpack(model, { root: values["cache-dir"], dtype: "q8" });
const chosen = CASES.filter(
  ({ name }) => values.cases === undefined || values.cases.split(",").includes(name),
);

console.log(
  `${cpus()[0].model}, ${threads} threads, Node ${nodeVersion(values.node)}, read-ahead ${readAhead(model)} KB, ${basename(model)}, dtype q8${values.disk ? `, disk held down to ${values.disk}/s` : ""}\n`,
);
console.log(
  "| case | llama.cpp tok/s | plain tok/s | guessing tok/s | tokens a sweep | to plain | to llama.cpp | peak MB |",
);
console.log("| --- | --- | --- | --- | --- | --- | --- | --- |");
for (const { name, limit, draft, acceptance, ram, tokens } of chosen) {
  /** @type {{ theirs: number, plain: number, guessing: number, perSweep: number, peak: number, shadow?: string }[]} */
  const runs = [];
  for (let run = 0; run < Number(values.runs); run++) {
    /** @param {string[]} args */
    const measured = (args) => measure({ limit, node: values.node, disk }, args);
    const theirs = measured([join(root, "test/oracle/bench.mjs"), model, "8", "4", threads]);
    const script = [join(root, "scripts/bench-peers/guess.mjs"), join(root, "dist"), folder];
    const plain = measured([...script, "none", "0", "8", threads, ...(ram ? [ram] : [])]);
    const guessing = measured([
      ...script,
      draft,
      String(acceptance),
      String(tokens),
      threads,
      ...(ram ? [ram] : []),
    ]);
    runs.push({
      theirs: 1000 / median(theirs.decodeMs),
      plain: 1000 / plain.msPerToken,
      guessing: 1000 / guessing.msPerToken,
      perSweep: guessing.perSweep,
      peak: guessing.peak,
      shadow: guessing.shadow,
    });
  }
  /** @param {(run: typeof runs[number]) => number} pick */
  const middle = (pick) => median(runs.map(pick));
  const cells = [
    `${name}${runs[0].shadow ? ` (${runs[0].shadow})` : ""}, ${acceptance} hold`,
    middle(({ theirs }) => theirs).toFixed(2),
    middle(({ plain }) => plain).toFixed(2),
    middle(({ guessing }) => guessing).toFixed(2),
    middle(({ perSweep }) => perSweep).toFixed(2),
    middle(({ guessing, plain }) => guessing / plain).toFixed(2),
    middle(({ guessing, theirs }) => guessing / theirs).toFixed(1),
    (middle(({ peak }) => peak) / 1e6).toFixed(0),
  ];
  console.log(`| ${cells.join(" | ")} |`);
}
