import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { listCaches } from "../../src/store/list.ts";
import { diskSpeed, prefersDirect } from "../../src/stream/disk-speed.ts";
import type { Ring } from "../../src/stream/ring.ts";
import { BATCH_CHUNKS } from "../../src/stream/ring.ts";

const folder = mkdtempSync(join(tmpdir(), "sluice-disk-"));
afterAll(() => rmSync(folder, { recursive: true }));

function fresh(name: string): string {
  const root = join(folder, name);
  mkdirSync(root);
  return root;
}

/** A root that remembers a measurement of its disk; a date long ago, and rates that no disk has. */
function remembering(name: string, measured: object, circumstances: object = {}): string {
  const root = fresh(name);
  const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
  const known = {
    sluice: version,
    device: statSync(root).dev,
    hugePages: false,
    readChunks: BATCH_CHUNKS,
    ...circumstances,
  };
  writeFileSync(join(root, "disk.json"), JSON.stringify({ ...known, date: "2001-01-01", measured }));
  return root;
}

const ring = (direct: boolean) => ({ shared: new SharedArrayBuffer(8 << 20), direct }) as Ring;

describe("the speed of the disk", () => {
  it("is measured once, remembered, and no cache", () => {
    const root = fresh("once");
    const speed = diskSpeed(root)!;
    for (const rate of [speed.buffered, speed.cached, speed.direct ?? 1e9]) expect(rate).toBeGreaterThan(1e5);
    expect(readdirSync(root)).toEqual(["disk.json"]);
    expect(JSON.parse(readFileSync(join(root, "disk.json"), "utf8"))).toMatchObject({
      sluice: expect.any(String),
      device: statSync(root).dev,
      hugePages: expect.any(Boolean),
      readChunks: BATCH_CHUNKS,
      measured: speed,
    });
    expect(diskSpeed(root)).toEqual(speed);
    expect(listCaches(root)).toEqual([]);
  });

  it("is taken as remembered, unless something has changed or the file is no measurement", () => {
    const told = { direct: 7, buffered: 6, cached: 5 };
    expect(diskSpeed(remembering("told", told))).toEqual(told);
    expect(diskSpeed(remembering("none", { ...told, direct: null }))).toEqual({ ...told, direct: null });
    expect(diskSpeed(remembering("old", told, { sluice: "0.0.1" }))).not.toEqual(told);
    expect(diskSpeed(remembering("moved", told, { device: -1 }))).not.toEqual(told);
    expect(diskSpeed(remembering("odd", { ...told, cached: -5 }))?.cached).toBeGreaterThan(0);
  });

  it("is that of the nearest folder where there is no root, and nothing is left there", () => {
    const above = fresh("above");
    expect(diskSpeed(join(above, "not", "there"))).toBeDefined();
    expect(readdirSync(above)).toEqual([]);
  });

  it.runIf(process.getuid?.() !== 0)("is not known where nothing can be written", () => {
    const root = fresh("read-only");
    chmodSync(root, 0o500);
    expect(diskSpeed(root)).toBeUndefined();
  });
});

describe("direct reads", () => {
  const large = 1e9;

  it("are made where they are possible and buffered ones not clearly faster", () => {
    const root = (name: string, direct: number, buffered: number) =>
      remembering(name, { direct, buffered, cached: 1 });
    expect(prefersDirect(root("direct", 3e9, 2e9), ring(true), large)).toBe(true);
    expect(prefersDirect(root("even", 3e9, 3.3e9), ring(true), large)).toBe(true);
    expect(prefersDirect(root("buffered", 1e9, 2e9), ring(true), large)).toBe(false);
    expect(prefersDirect(root("impossible", 3e9, 1e9), ring(false), large)).toBe(false);
  });

  it("are not measured for a small model", () => {
    const root = fresh("small");
    expect(prefersDirect(root, ring(true), 1e6)).toBe(true);
    expect(readdirSync(root)).toEqual([]);
  });
});
