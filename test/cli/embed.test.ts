import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import type { EmbedReport } from "../../src/cli/html/embed-page.ts";
import { MODEL, sluice } from "./spawn.ts";

const folder = mkdtempSync(join(tmpdir(), "sluice-embed-"));
afterAll(() => rmSync(folder, { recursive: true }));
const env = { SLUICE_CACHE_DIR: join(folder, "cache"), CI: "1" };

it("compares texts and finds what is near them, in a table and as JSON alike", async () => {
  const texts = [" cat", " dog", "What is"];
  const { code, stdout } = await sluice(["embed", MODEL, ...texts], { env });
  expect(code).toBe(0);
  const report: EmbedReport = JSON.parse(
    (await sluice(["embed", "-m", MODEL, ...texts, "--json", "--nearest", "3"], { env })).stdout,
  );
  expect(report.texts.map(({ text }) => text)).toEqual(texts);
  expect(report.texts[2].pieces).toEqual(["What", " is"]);
  expect(report.texts[0].nearest).toHaveLength(3);
  // An animal is nearer to an animal.
  expect(report.texts[0].nearest[0].piece).toBe(" dog");
  expect(report.cosine[0][1]).toBeGreaterThan(0.5);
  expect(report.cosine[0][0]).toBeCloseTo(1, 6);
  const [cat, dog] = report.texts;
  expect(report.dot[0][1]).toBeCloseTo(report.cosine[0][1] * cat.norm * dog.norm, 5);
  expect(stdout).toContain(report.cosine[0][1].toFixed(3));
  expect(stdout).toContain(report.dot[1][2].toFixed(4));
  expect(stdout).toMatch(/^" cat" +" dog" 0\.\d{3} /m);
  // No token twice.
  const labels = report.projection.points.map(({ label }) => label);
  expect(new Set(labels).size).toBe(labels.length);
});

it("draws it into a page that needs nothing else, in which a text cannot be markup", async () => {
  const path = join(folder, "page.html");
  const hostile = "<script>alert(1)</script>&\"'";
  const drawn = await sluice(["embed", MODEL, " cat", hostile, "--html", path], { env });
  expect(drawn).toMatchObject({ code: 0, stdout: "", stderr: `The page is ${path}\n` });
  const page = readFileSync(path, "utf8");
  expect(page).not.toMatch(/<script>alert|https?:|src=|@import|url\(/);
  expect(page).toContain("&#60;script&#62;alert(1)&#60;/script&#62;&#38;&#34;&#39;");
  expect(page).toContain("prefers-color-scheme: dark");
  expect(page.match(/<circle /g)?.length).toBeGreaterThan(2);
  const piped = await sluice(["embed", MODEL, " cat", hostile, "--html", "-"], { env });
  expect(piped.stdout).toBe(page);
});

it("tells of a page that cannot be written", async () => {
  const path = join(folder, "no", "folder", "page.html");
  const { code, stderr } = await sluice(["embed", MODEL, " cat", "--html", path], { env });
  expect(code).toBe(1);
  expect(stderr).toMatch(
    /cannot write .*page\.html: no such file or folder\n {2}Check the path given with --html/,
  );
});
