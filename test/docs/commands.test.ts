import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { environment, MAIN, MODEL } from "../cli/spawn.ts";
import { commandsOf, pattern } from "./console.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

const folder = mkdtempSync(join(tmpdir(), "sluice-commands-"));
/** The files that pages show with `cat` before any command has made them. */
const SHOWN = ["questions.jsonl", "people.csv"];
const env = environment({ SLUICE_CACHE_DIR: join(folder, "cache"), CI: "1" });
beforeAll(() => {
  symlinkSync(join(root, "models"), join(folder, "models"), "junction");
  for (const [command, content] of commandsOf("batch.md"))
    for (const name of SHOWN) if (command === `cat ${name}`) writeFileSync(join(folder, name), content);
  mkdirSync(join(folder, "bin"));
  const command = join(folder, "bin/sluice");
  // Through a link elsewhere, as npm installs it: the pages name the command as it is called then.
  const main = join(folder, "bin/main.js");
  symlinkSync(MAIN, main);
  writeFileSync(command, `#!/bin/sh\nexec '${process.execPath}' '${main}' "$@"\n`);
  chmodSync(command, 0o755);
  const unpacked = spawnSync(process.execPath, [MAIN, "unpack", MODEL], { env, encoding: "utf8" });
  expect(unpacked.status, unpacked.stderr).toBe(0);
});
afterAll(() => rmSync(folder, { recursive: true }));

describe.runIf(process.platform !== "win32").each(["explore.md", "scripting.md", "batch.md"])(
  "docs/%s",
  (file) => {
    it.each(commandsOf(file))("$ %s", (command, output) => {
      const PATH = `${join(folder, "bin")}:${env["PATH"]}`;
      const { stdout } = spawnSync("bash", ["-c", `{ ${command}; } 2>&1`], {
        cwd: folder,
        encoding: "utf8",
        env: { ...env, PATH },
      });
      expect(stdout.trimEnd()).toMatch(pattern(output));
    });
  },
);
