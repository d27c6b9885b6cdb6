// @ts-check
/** The script and the style of timing reports, uPlot in them: dist/timing/page/. */
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "vite";

const root = dirname(import.meta.dirname);
const source = join(root, "src/timing/page");

/** Bundle the page; what the published package carries needs no uPlot any more, but carries its licence. */
export async function buildPage() {
  const uplot = dirname(dirname(fileURLToPath(import.meta.resolve("uplot"))));
  const licence = readFileSync(join(uplot, "LICENSE"), "utf8").trim();
  await build({
    configFile: false,
    logLevel: "warn",
    root: source,
    build: {
      lib: {
        entry: join(source, "main.ts"),
        formats: ["iife"],
        name: "report",
        fileName: () => "page.js",
        cssFileName: "page",
      },
      outDir: join(root, "dist/timing/page"),
      emptyOutDir: true,
      target: "es2022",
      rolldownOptions: { output: { postBanner: `/*! uPlot\n${licence}\n*/` } },
    },
  });
}
