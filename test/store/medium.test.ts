import { existsSync, statfsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { mediumOf } from "../../src/store/medium.ts";
import { temporaryFolder } from "./fake-cache.ts";

test("free bytes of a folder that is not there yet are those of the one above", () => {
  const folder = temporaryFolder();
  const { bavail, bsize } = statfsSync(folder);
  const { freeBytes } = mediumOf(join(folder, "a", "b"));
  expect(Math.abs(freeBytes - bavail * bsize)).toBeLessThan(1e9);
});

test.runIf(existsSync("/dev/shm"))("memory is recognised", () => {
  expect(mediumOf("/dev/shm/sluice-is-not-there")).toMatchObject({ kind: "memory", fileSystem: "tmpfs" });
});
