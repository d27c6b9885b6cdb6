import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { sluice } from "../spawn.ts";

const folder = mkdtempSync(join(tmpdir(), "sluice-chat-timings-"));
afterAll(() => rmSync(folder, { recursive: true }));

it("/timings writes what was recorded so far, and says where it cannot", async () => {
  const path = join(folder, "so far.json");
  const lines = [
    "Hello!",
    `/timings ${path}`,
    "/timings ~/home.csv",
    "/timings a.txt",
    "/timings",
    `/timings ${folder}/none/a.csv`,
    "Hello!",
  ];
  const { code, stdout, stderr } = await sluice(["chat", "--temp", "0"], {
    env: { SLUICE_CACHE_DIR: folder, HOME: folder },
    input: lines.map((line) => `${line}\n`).join(""),
  });
  // What could not be written counts as a failure.
  expect(code, stderr).toBe(1);
  expect(stdout.trimEnd().split("\n").length).toBe(2);
  expect(stderr).toContain(`Written to ${path}.`);
  expect(stderr).toContain(
    "the name of the file must end in .html, .json, .csv or .trace.json; a.txt does not",
  );
  expect(stderr).toContain("/timings needs a file");
  expect(existsSync(join(folder, "home.csv"))).toBe(true);
  // Not of the command line.
  expect(stderr).not.toContain("--timings");
  expect(stderr).toContain("cannot write");
  const { format, command, sweeps } = JSON.parse(readFileSync(path, "utf8"));
  expect({ format, command }).toEqual({ format: "sluice-timings", command: "chat" });
  expect(sweeps.filter(({ kind }: { kind: string }) => kind === "prefill").length).toBe(1);
});
