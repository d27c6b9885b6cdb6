// @ts-check
/** The build: TypeScript by tsc, the kernels by AssemblyScript, the page of reports by Vite. All go to dist/. */
import { spawnSync } from "node:child_process";
import { chmodSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildPage } from "./build-page.mjs";

const root = dirname(import.meta.dirname);
const require = createRequire(import.meta.url);
const tsc = join(dirname(require.resolve("typescript/package.json")), "bin/tsc");
const asc = join(dirname(fileURLToPath(import.meta.resolve("assemblyscript"))), "../bin/asc.js");

/** @param {string[]} command */
function run(...command) {
  const { status } = spawnSync(process.execPath, command, { cwd: root, stdio: "inherit" });
  if (status !== 0) process.exitCode = 1;
}

run(tsc, "-p", "tsconfig.build.json");
// The command, for `npx sluice` in the checkout: npm links it, but a build makes it anew.
chmodSync(join(root, "dist/cli/main.js"), 0o755);
/**
 * @param {string} entry
 * @param {string} out
 * @param {string} features
 */
function compileKernels(entry, out, features) {
  run(
    asc,
    `src/kernels/wasm/${entry}`,
    ...["--outFile", `dist/kernels/${out}`, "-O3", "--noAssert", "--runtime", "stub", "--enable", features],
    ...["--importMemory", "--sharedMemory", "--initialMemory", "1", "--maximumMemory", "65536"],
  );
}

compileKernels("index.as.ts", "kernels.wasm", "simd,threads");
compileKernels("fit.as.ts", "fit.wasm", "simd,threads");
compileKernels("relaxed.as.ts", "relaxed.wasm", "simd,threads,relaxed-simd");
await buildPage();
