import { resolve, sep } from "node:path";
import { defineConfig } from "vitest/config";

const src = resolve(import.meta.dirname, "src") + sep;
const dist = resolve(import.meta.dirname, "dist") + sep;

export default defineConfig({
  plugins: [
    {
      // Tests name the sources and run what ships: only compiled files can be started as threads.
      name: "run-the-build",
      enforce: "pre",
      async resolveId(source, importer) {
        if (importer === undefined || !source.endsWith(".ts")) return null;
        const path = resolve(importer, "..", source);
        return path.startsWith(src) ? path.replace(src, dist).replace(/\.ts$/, ".js") : null;
      },
    },
  ],
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: "test/build.ts",
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // What is shown must not depend on who runs the tests.
    env: { CI: "", NO_COLOR: "", TERM: "xterm" },
  },
});
