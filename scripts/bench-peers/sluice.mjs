// @ts-check
/** sluice's speed on a cache, as one line of JSON: node sluice.mjs DIST FOLDER PROMPT NEW_TOKENS THREADS [warm] [RAM] */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [dist, folder, promptTokens, newTokens, threads, warm, ram] = process.argv.slice(2);
/** @type {typeof import("../../dist/index.js")} */
const { Model } = await import(pathToFileURL(join(dist, "index.js")).href);
const start = performance.now();
const model = await Model.open(folder, {
  threads: Number(threads),
  contextLength: 1024,
  ram: ram === "auto" ? "auto" : ram === undefined ? undefined : Number(ram),
});
const loadMs = performance.now() - start;
const text = "The quick brown fox jumps over the lazy dog. ".repeat(Number(promptTokens));
const prompt = model.tokenizer.encode(text).slice(0, Number(promptTokens));
if (warm) for await (const _ of model.createSession().generate(prompt.slice(0, 4), { maxTokens: 1 }));
const tokens = model.createSession().generate(prompt, {
  sampling: { temperature: 0 },
  maxTokens: Number(newTokens) + 1,
});
let next = await tokens.next();
while (!next.done) next = await tokens.next();
const { prefill, decode } = next.value;
const peak = Number(/VmHWM:\s+(\d+)/.exec(readFileSync("/proc/self/status", "utf8"))?.[1]) * 1024;
console.log(
  JSON.stringify({
    loadMs,
    prefillMs: prefill.reduce((sum, sweep) => sum + sweep.ms, 0),
    decodeMs: decode.map((sweep) => sweep.ms),
    peak,
  }),
);
await model.close();
