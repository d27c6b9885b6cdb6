// @ts-check
/**
 * Let llama.cpp, with keys and values in float32, read the synthetic models of test/engine/architecture-cases.mjs, and
 * record its log-probabilities and greedy tokens for test/engine/architectures.test.ts: node record.mjs
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeModel, PRESETS } from "../../scripts/synthetic/model.mjs";
import { CASES, IDS, POSITIONS, TOKENS } from "../engine/architecture-cases.mjs";
import { distributions } from "./llama.mjs";

const folder = mkdtempSync(join(tmpdir(), "sluice-oracle-"));
/** @type {Record<string, { logprobs: number[][], greedy: number[] }>} */
const recorded = {};
try {
  for (const [name, { contextLength = 256, ...changes }] of Object.entries(CASES)) {
    const path = join(folder, "model.gguf");
    makeModel(path, { ...PRESETS["tiny"], ...changes, type: "f32" });
    const { probabilities, greedy } = await distributions(path, IDS, POSITIONS, contextLength);
    const logprobs = probabilities.map((found) =>
      TOKENS.map((id) => Number(Math.log(found.get(id) ?? 0).toFixed(6))),
    );
    recorded[name] = { logprobs, greedy };
    console.log(name);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
const lines = Object.entries(recorded).map(
  ([name, found]) => `  ${JSON.stringify(name)}: ${JSON.stringify(found)}`,
);
writeFileSync(join(import.meta.dirname, "../engine/llama-logprobs.json"), `{\n${lines.join(",\n")}\n}\n`);
process.exit(0);
