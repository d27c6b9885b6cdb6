import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { environment, MAIN, MODEL } from "../cli/spawn.ts";
import { FakeHub } from "../hub/fake-hub.ts";
import { commandsOf, pattern } from "./console.ts";

const run = promisify(execFile);

describe.runIf(process.platform !== "win32")("docs/pull.md", () => {
  const folder = mkdtempSync(join(tmpdir(), "sluice-docs-pull-"));
  const bin = join(folder, "bin");
  let hub: FakeHub;
  beforeAll(async () => {
    mkdirSync(bin);
    // Through a link elsewhere, as npm installs it: the page names the command as it is called then.
    symlinkSync(MAIN, join(bin, "main.js"));
    writeFileSync(
      join(bin, "sluice"),
      `#!/bin/sh\nexec '${process.execPath}' '${join(bin, "main.js")}' "$@"\n`,
    );
    chmodSync(join(bin, "sluice"), 0o755);
    hub = await FakeHub.start("example/tiny-chat-GGUF", {
      "tiny-chat-BF16.gguf": randomBytes(1000),
      "tiny-chat-F16.gguf": randomBytes(1000),
      "tiny-chat-Q8_0.gguf": readFileSync(MODEL),
    });
  });
  afterAll(async () => {
    await hub.stop();
    rmSync(folder, { recursive: true });
  });

  it.each(commandsOf("pull.md"))("$ %s", async (command, output) => {
    const env = environment({
      PATH: `${bin}:${process.env["PATH"]}`,
      HOME: folder,
      HF_HOME: join(folder, "hf"),
      HF_ENDPOINT: hub.endpoint,
      SLUICE_CACHE_DIR: join(folder, "cache"),
    });
    const { stdout } = await run("bash", ["-c", `{ ${command}; } 2>&1; true`], { cwd: folder, env });
    expect(stdout.trimEnd()).toMatch(pattern(output));
  });
});
