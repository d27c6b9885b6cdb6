import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { sluice } from "./spawn.ts";

const folder = mkdtempSync(join(tmpdir(), "sluice-demo-"));
afterAll(() => rmSync(folder, { recursive: true }));

it("unpacks the bundled model, asks two questions, shows the layers, and the second time finds it unpacked", async () => {
  const env = { SLUICE_CACHE_DIR: folder };
  const first = await sluice(["demo"], { env });
  expect(first.code, first.stderr).toBe(0);
  expect(first.stderr).toContain("100 %");
  const { stdout } = first;
  expect(stdout).toContain("> What is the capital of Japan?\nThe capital of Japan is Tokyo.\n");
  expect(stdout).toContain("> What is 7 plus 5?\n7 plus 5 is 12.\n");
  expect(stdout.match(/^\d+ +0\.205 .*$/gm)).toHaveLength(36);
  expect(stdout).toContain("\nTimes of the second question:\n\n");
  expect(stdout).toContain("sluice chat");

  const second = await sluice(["demo"], { env });
  expect(second).toMatchObject({ code: 0, stderr: "" });
  expect(second.stdout).toContain("Already unpacked");
});
