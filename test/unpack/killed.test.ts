import { execFileSync, spawn } from "node:child_process";
import { readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { tryOpen } from "../../src/store/cache.ts";
import { unpack } from "../../src/unpack/unpack.ts";
import { seeded } from "../random.ts";
import { folderContent, makeFile, temporaryFolder } from "./models.ts";

const EVERY_DEATH = fileURLToPath(new URL("every-death.mjs", import.meta.url));
const CHILD = fileURLToPath(new URL("unpack-child.mjs", import.meta.url));

test.each([
  ["a first unpack", ""],
  ["a replacement", "force"],
])("%s may die before any of its operations", async (_, force) => {
  const model = makeFile({ layers: 1 });
  const { folder } = await unpack(model, { root: temporaryFolder() });
  const undisturbed = folderContent(folder);
  const roots = temporaryFolder();
  const deaths = Number(execFileSync(process.execPath, [EVERY_DEATH, model, roots, force]));
  expect(deaths).toBeGreaterThan(25);
  for (let death = 0; death < deaths; death++) {
    const root = join(roots, `${death}`);
    const where = `death ${death} of ${deaths}`;
    // What there was before a replacement is never lost: it is in its place, or beside it until the next run.
    if (force)
      expect(
        readdirSync(root).some((name) => tryOpen(join(root, name))),
        where,
      ).toBe(true);
    const again = await unpack(model, { root });
    expect(readdirSync(root), where).toEqual([basename(folder)]);
    expect(folderContent(again.folder), where).toEqual(undisturbed);
  }
});

test("killed again and again at any moment, it still gets there", async () => {
  const root = temporaryFolder();
  const model = makeFile({ type: "f32", width: 256, feedForward: 768, layers: 8 });
  const random = seeded(1);
  let kills = 0;
  for (let run = 0; run < 10; run++) {
    const child = spawn(process.execPath, [CHILD, model, root]);
    child.stdout.once("data", () => setTimeout(() => child.kill("SIGKILL"), 40 * random()));
    const signal = await new Promise((resolve) => child.on("close", (_, signal) => resolve(signal)));
    if (signal === "SIGKILL") kills++;
  }
  expect(kills).toBeGreaterThan(0);
  const { folder } = await unpack(model, { root });
  const undisturbed = await unpack(model, { root: temporaryFolder() });
  expect(folderContent(folder)).toEqual(folderContent(undisturbed.folder));
});
