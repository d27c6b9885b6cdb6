import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import type { LensReport } from "../../src/cli/html/lens-page.ts";
import { sluice } from "./spawn.ts";

const folder = mkdtempSync(join(tmpdir(), "sluice-lens-"));
afterAll(() => rmSync(folder, { recursive: true }));
const env = { SLUICE_CACHE_DIR: join(folder, "cache"), CI: "1" };
const TEXT = "Once upon a time there was a";

it("says after the last layer what run says, in the table and as JSON", async () => {
  const argv = ["lens", "-p", TEXT, "--positions", "3"];
  const { code, stdout } = await sluice(argv, { env });
  expect(code).toBe(0);
  const lines = stdout.trimEnd().split("\n");
  expect(lines[0]).toMatch(/^after +4 " there" +5 " was" +6 " a"$/);
  expect(lines).toHaveLength(1 + 37);
  expect(lines[1]).toMatch(/^embedding /);
  expect(lines[37]).toMatch(/^layer 35 .*" little" +\d+$/);

  const report: LensReport = JSON.parse((await sluice([...argv, "--json", "--top", "2"], { env })).stdout);
  expect(report).toMatchObject({ text: TEXT, model: { layers: 36 } });
  expect(report.positions.map(({ piece }) => piece)).toEqual([" there", " was", " a"]);
  for (const { stages } of report.positions) {
    expect(stages).toHaveLength(37);
    for (const best of stages) expect(best).toHaveLength(2);
  }
  const run = ["run", "--no-template", "-p", TEXT, "-n", "1", "--temp", "0", "--json", "--logprobs", "2"];
  const { logprobs } = JSON.parse((await sluice(run, { env })).stdout);
  const last = report.positions[2].stages[36];
  for (const [rank, { id, logprob }] of logprobs[0].top.entries()) {
    expect(last[rank].id).toBe(id);
    expect(last[rank].probability).toBeCloseTo(Math.exp(logprob), 5);
  }
});

it("keeps within the width of the terminal, and takes its text from stdin through the template", async () => {
  const { stdout } = await sluice(["lens", "--chat", "--positions", "9"], { env, input: "Hello!\n" });
  expect(stdout.match(/^after /gm)!.length).toBeGreaterThan(1);
  for (const line of stdout.split("\n")) expect(line.length).toBeLessThanOrEqual(80);
  expect(stdout).toContain('"<|im_start|>"');
  expect(stdout).toContain('"\\n"');
});

it("draws a heat map of which every cell is in the data, and in which a token cannot be markup", async () => {
  const path = join(folder, "lens.html");
  const drawn = await sluice(["lens", "-p", "a </script><b> b", "--html", path], { env });
  expect(drawn).toMatchObject({ code: 0, stdout: "", stderr: `The page is ${path}\n` });
  const page = readFileSync(path, "utf8");
  expect(page).not.toMatch(/https?:|src=|@import|url\(|<b>/);
  expect(page.match(/<\/script>/g)).toHaveLength(2);
  const [, json] = /<script type="application\/json" id="data">(.*?)<\/script>/s.exec(page)!;
  const positions: LensReport["positions"] = JSON.parse(json);
  expect(page.match(/<td /g)).toHaveLength(positions.length * 37);
  expect(page.match(/tabindex="0"/g)).toHaveLength(1);
});
