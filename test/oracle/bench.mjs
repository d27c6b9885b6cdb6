// @ts-check
/** llama.cpp's speed on a model, as one line of JSON: node bench.mjs MODEL PROMPT_TOKENS NEW_TOKENS THREADS [warm] */
import { readFileSync } from "node:fs";
import { getLlama } from "node-llama-cpp";

const [path, promptTokens, newTokens, threads, warm] = process.argv.slice(2);
const start = performance.now();
const llama = await getLlama({ gpu: false, build: "never", logLevel: /** @type {any} */ ("error") });
const model = await llama.loadModel({ modelPath: path, useMmap: true, ignoreMemorySafetyChecks: true });
const context = await model.createContext({
  contextSize: 1024,
  batchSize: 512,
  threads: Number(threads),
  ignoreMemorySafetyChecks: true,
});
const loadMs = performance.now() - start;
const text = "The quick brown fox jumps over the lazy dog. ".repeat(Number(promptTokens));
const prompt = model.tokenize(text).slice(0, Number(promptTokens));
const sequence = context.getSequence();
if (warm) {
  for await (const _ of sequence.evaluate(prompt.slice(0, 4), { temperature: 0 })) break;
  await sequence.clearHistory();
}
const begin = performance.now();
/** @type {number[]} */
const times = [];
for await (const _ of sequence.evaluate(prompt, { temperature: 0 })) {
  times.push(performance.now());
  if (times.length > Number(newTokens)) break;
}
const decodeMs = times.slice(1).map((time, i) => time - times[i]);
const peak = Number(/VmHWM:\s+(\d+)/.exec(readFileSync("/proc/self/status", "utf8"))?.[1]) * 1024;
console.log(JSON.stringify({ loadMs, prefillMs: times[0] - begin, decodeMs, peak }));
process.exit(0);
