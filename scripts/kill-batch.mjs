// @ts-check
/**
 * Kill `sluice batch` at random moments and let it go on, until it is done; the output must be that of an undisturbed run,
 * byte for byte. Build first (`npm run build`).
 *
 *     node scripts/kill-batch.mjs --kills 50
 */
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Command } from "commander";

const program = new Command("kill-batch")
  .description("Kill sluice batch at random moments and compare what comes of it in the end.")
  .option("--kills <n>", "how often", Number, 50)
  .option("--prompts <n>", "prompts in each file", Number, 60)
  .option("--format <ending>", "jsonl or csv", "jsonl")
  .parse();
const { kills, prompts, format } = program.opts();

const MAIN = fileURLToPath(new URL("../dist/cli/main.js", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "sluice-kill-"));
const input = join(folder, `in.${format}`);
const env = { ...process.env, SLUICE_CACHE_DIR: join(folder, "cache") };
const ARGUMENTS = ["--dtype", "q8", "-n", "40", "--parallel", "6", "--seed", "5"];

/**
 * @param {string} out
 * @param {number} [killAfter] milliseconds
 * @returns {Promise<number | string | null>} 0, the signal that ended it, or what it said
 */
async function batch(out, killAfter) {
  const child = spawn(process.execPath, [MAIN, "batch", input, "-o", out, ...ARGUMENTS], {
    env,
    stdio: ["ignore", "ignore", "pipe"],
  });
  let stderr = "";
  child.stderr.on("data", (text) => {
    stderr += text;
  });
  /** @type {Promise<number | string | null>} */
  const ended = new Promise((resolve) =>
    child.on("close", (code, signal) => resolve(signal ?? (code === 0 ? 0 : stderr))),
  );
  if (killAfter !== undefined) void sleep(killAfter).then(() => child.kill("SIGKILL"));
  return ended;
}

function writeInput() {
  const question = (/** @type {number} */ i) =>
    ["What is the capital of Japan?", `What is ${i % 9} plus ${(i * 7) % 9}?`, "Tell me a story."][i % 3];
  const lines = Array.from({ length: prompts }, (_, i) =>
    format === "csv"
      ? `"${question(i)}\n",${i % 2}`
      : JSON.stringify({ id: `q${i}`, prompt: question(i), temperature: i % 2 }),
  );
  writeFileSync(input, `${[...(format === "csv" ? ["prompt,temperature"] : []), ...lines].join("\n")}\n`);
}

let failed = false;
try {
  writeInput();
  const whole = join(folder, `whole.${format}`);
  if ((await batch(whole)) !== 0) throw new Error("the undisturbed run has failed");
  const start = performance.now();
  rmSync(whole);
  await batch(whole);
  const ms = performance.now() - start;
  const want = readFileSync(whole);
  let killed = 0;
  let halves = 0;
  for (let round = 1; killed < kills; round++) {
    const out = join(folder, `out-${round}.${format}`);
    for (;;) {
      const ended = await batch(out, killed < kills ? 100 + Math.random() * ms : undefined);
      if (ended === "SIGKILL") killed++;
      if (existsSync(out) && ![undefined, 10].includes(readFileSync(out).at(-1))) halves++;
      if (ended === 0) break;
      if (ended !== "SIGKILL") throw new Error(`a run ended with ${ended}`);
    }
    if (!readFileSync(out).equals(want)) {
      failed = true;
      console.error(`round ${round}: ${out} differs`);
    }
  }
  console.log(
    `${killed} kills (a run takes ${Math.round(ms)} ms), ${halves} files cut in a line: ${failed ? "FAILED" : "all outputs are the same"}`,
  );
} finally {
  if (!failed) rmSync(folder, { recursive: true, force: true });
}
process.exitCode = failed ? 1 : 0;
