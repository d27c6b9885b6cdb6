// @ts-check
/**
 * Make the pictures of docs/timing.md: docs/images/report-*.png. Build first (`npm run build`); takes Chromium of the
 * system, or the one that the environment variable CHROMIUM names.
 *
 *     node scripts/screenshots.mjs                  # of runs of a synthetic model, recorded here and now: takes a minute
 *     node scripts/screenshots.mjs --sample         # of the recordings that the tests make up
 *     node scripts/screenshots.mjs A.json B.json    # of two recordings that are there
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";
import { createServer } from "vite";

const root = dirname(import.meta.dirname);
const images = join(root, "docs/images");
const command = join(root, "dist/cli/main.js");
const MOST_BYTES = 300_000;

/** @typedef {{ name: string, pages: number, width: number, height?: number, dark?: boolean, part?: string, keys?: string[] }} Shot */
/** @type {Shot[]} */
const shots = [
  { name: "report", pages: 1, width: 1200, part: ".verdict" },
  {
    name: "report-sweeps",
    pages: 1,
    width: 1200,
    part: "#sweeps",
    keys: ["PageDown", "PageDown", "PageDown"],
  },
  {
    name: "report-timeline",
    pages: 1,
    width: 680,
    part: "#timeline",
    keys: ["+", "+", "+", "ArrowDown", "ArrowRight"],
  },
  {
    name: "report-narrow-dark",
    pages: 1,
    width: 400,
    dark: true,
    part: "#layers",
    keys: ["PageDown", "PageDown"],
  },
  { name: "report-compared", pages: 2, width: 1100, part: "#layers .pair" },
];

const folder = mkdtempSync(join(tmpdir(), "sluice-screenshots-"));
try {
  const recordings = await chooseRecordings(process.argv.slice(2));
  await takeShots(recordings);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/**
 * Two recordings: the one that is shown, and the one that it is compared with.
 *
 * @param {string[]} args
 */
async function chooseRecordings(args) {
  if (args.includes("--sample")) return sampleRecordings();
  if (args.length > 0) return args.map(readRecording);
  const { stdout } = spawnSync(process.execPath, [command, "run", "--help"], { encoding: "utf8" });
  return stdout.includes("--timings") ? recordRuns() : sampleRecordings();
}

/** Of a model that is made for it, small enough to be quick, and large enough that disk and arithmetic show. */
function recordRuns() {
  const model = join(folder, "model.gguf");
  const shape = [
    "--layers",
    "24",
    "--width",
    "1024",
    "--feed-forward",
    "2816",
    "--heads",
    "16",
    "--kv-heads",
    "4",
  ];
  run(
    join(root, "scripts/make-model.mjs"),
    "--out",
    model,
    "--type",
    "q8_0",
    "--vocabulary",
    "8000",
    ...shape,
  );
  return ["f32", "q8"].map((dtype) => {
    const file = join(folder, `${dtype}.json`);
    const common = ["--no-template", "-p", "The time goes", "-n", "40", "--temp", "0"];
    run(command, "run", model, "--cache-dir", folder, "--dtype", dtype, ...common, "--timings", file);
    return readRecording(file);
  });
}

async function sampleRecordings() {
  const server = await createServer({
    root,
    configFile: false,
    appType: "custom",
    logLevel: "error",
    server: { middlewareMode: true },
  });
  try {
    const { sampleRecording } = await server.ssrLoadModule("/test/timing/sample-recording.ts");
    return [sampleRecording(), sampleRecording({ dtype: "q8" })];
  } finally {
    await server.close();
  }
}

/** @param {any[]} recordings */
async function takeShots(recordings) {
  const { htmlReport } = await import(pathToFileURL(join(root, "dist/timing/html-report.js")).href);
  const pages = recordings.map((_, index) => {
    const page = join(folder, `${index}.html`);
    writeFileSync(page, htmlReport(recordings.slice(0, index + 1)));
    return pathToFileURL(page).href;
  });
  const places = [process.env["CHROMIUM"], "/usr/bin/chromium", "/usr/bin/google-chrome"];
  const executablePath = places.find((path) => path && existsSync(path));
  if (executablePath === undefined) throw new Error("No Chromium: set CHROMIUM to where it is.");
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  mkdirSync(images, { recursive: true });
  let bytes = 0;
  for (const { name, pages: count, width, height = 900, dark, part, keys = [] } of shots) {
    if (pages[count - 1] === undefined) continue;
    const page = await browser.newPage({
      viewport: { width, height },
      colorScheme: dark ? "dark" : "light",
    });
    await page.goto(pages[count - 1]);
    await page.waitForSelector("#charts[data-ready]");
    if (keys.length > 0) await page.locator(`${part} [role=slider]`).first().focus();
    for (const key of keys) await page.keyboard.press(key);
    const path = join(images, `${name}.png`);
    await (part === undefined ? page : page.locator(part)).screenshot({ path });
    await page.close();
    bytes += statSync(path).size;
    console.log(`${path}: ${statSync(path).size} bytes`);
  }
  await browser.close();
  if (bytes > MOST_BYTES) throw new Error(`${bytes} bytes of pictures: more than ${MOST_BYTES}.`);
}

/** @param {string} path */
function readRecording(path) {
  return JSON.parse(readFileSync(path, "utf8"));
}

/** @param {string[]} args */
function run(...args) {
  const { status } = spawnSync(process.execPath, args, { stdio: ["ignore", "ignore", "inherit"] });
  if (status !== 0) throw new Error(`${args.join(" ")} failed.`);
}
