// @ts-check
/**
 * Make a synthetic model for tests and measurements. Build first (`npm run build`).
 *
 *     node scripts/make-model.mjs --preset smollm3-3b --out /tmp/smollm3-3b-q8_0.gguf
 */

import { statSync } from "node:fs";
import { Command, InvalidArgumentError, Option } from "commander";
import { ARCHITECTURES } from "./synthetic/architectures.mjs";
import { makeModel, PRESETS } from "./synthetic/model.mjs";
import { LARGEST_VOCABULARY } from "./synthetic/vocabulary.mjs";
import { WEIGHT_TYPES } from "./synthetic/weights.mjs";

const count = (/** @type {string} */ text) => {
  const number = Number(text);
  if (!Number.isSafeInteger(number) || number < 1)
    throw new InvalidArgumentError("a whole number from 1 on, please.");
  return number;
};

const program = new Command("make-model")
  .description("Write a GGUF model of random weights; the options change what the preset says.")
  .requiredOption("--out <file>", "where to write it")
  .addOption(new Option("--preset <name>").choices(Object.keys(PRESETS)).default("tiny"))
  .addOption(new Option("--arch <name>").choices(Object.keys(ARCHITECTURES)))
  .addOption(new Option("--type <type>", "tensor type of the matrices").choices(WEIGHT_TYPES))
  .option("--layers <n>", "", count)
  .option("--width <n>", "", count)
  .option("--feed-forward <n>", "", count)
  .option("--heads <n>", "", count)
  .option("--kv-heads <n>", "", count)
  .option("--vocabulary <n>", `272 to ${LARGEST_VOCABULARY} tokens`, count)
  .option("--context <n>", "", count)
  .option("--untied", "an output matrix apart from the embedding")
  .option("--seed <n>", "other weights", count)
  .parse();

const { out, preset, ...changes } = program.opts();
/** @type {import("./synthetic/model.mjs").Shape} */
const shape = { ...PRESETS[preset], ...changes };
if (
  shape.width % shape.heads !== 0 ||
  (shape.width / shape.heads) % 2 !== 0 ||
  shape.heads % shape.kvHeads !== 0
) {
  program.error("error: --width must be an even multiple of --heads, and --heads a multiple of --kv-heads");
}
if (shape.vocabulary < 272 || shape.vocabulary > LARGEST_VOCABULARY) {
  program.error(`error: --vocabulary must be 272 to ${LARGEST_VOCABULARY}`);
}
const start = performance.now();
makeModel(out, shape, (written, total, name) => {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${written} of ${total} tensors: ${name}`);
});
const seconds = (performance.now() - start) / 1000;
if (process.stderr.isTTY) process.stderr.write("\r\x1b[K");
console.log(`${out}: ${statSync(out).size} bytes in ${seconds.toFixed(1)} s`);
