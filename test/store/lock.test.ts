import { readdirSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { removeCache } from "../../src/store/list.ts";
import { acquireLock, lockHolder } from "../../src/store/lock.ts";
import { makeCache, temporaryFolder } from "./fake-cache.ts";

/** Leave a claim as another process would have. */
async function plant(folder: string, change: object | string): Promise<void> {
  const release = await acquireLock(folder);
  const claim = { ...lockHolder(folder), ...(typeof change === "string" ? {} : change) };
  release();
  writeFileSync(`${folder}.lock-planted`, typeof change === "string" ? change : JSON.stringify(claim));
}

test("waits for a living holder, says so once, and follows it", async () => {
  const folder = join(temporaryFolder(), "cache");
  const first = await acquireLock(folder);
  const told: number[] = [];
  let got = false;
  const second = acquireLock(folder, { onWait: (holder) => told.push(holder.pid) }).then((release) => {
    got = true;
    return release;
  });
  await sleep(700);
  expect(got).toBe(false);
  expect(told).toEqual([process.pid]);
  first();
  (await second)();
  expect(lockHolder(folder)).toBeUndefined();
});

test("waiting can be stopped, and leaves nothing", async () => {
  const root = temporaryFolder();
  const release = await acquireLock(join(root, "cache"));
  const signal = AbortSignal.timeout(150);
  await expect(acquireLock(join(root, "cache"), { signal })).rejects.toMatchObject({ code: "aborted" });
  release();
  expect(readdirSync(root)).toEqual([]);
});

test("never two at once, however many come together", async () => {
  const folder = join(temporaryFolder(), "cache");
  await plant(folder, { pid: 2 ** 22 + 1 });
  let inside = 0;
  let most = 0;
  const one = async () => {
    const release = await acquireLock(folder);
    most = Math.max(most, ++inside);
    await sleep(5);
    inside--;
    release();
  };
  await Promise.all(Array.from({ length: 8 }, one));
  expect(most).toBe(1);
});

test("takes over from a dead process and from a reused pid", async () => {
  for (const change of [{ pid: 2 ** 22 + 1 }, ...(process.platform === "linux" ? [{ started: "1" }] : [])]) {
    const folder = join(temporaryFolder(), "cache");
    await plant(folder, change);
    (await acquireLock(folder, { signal: AbortSignal.timeout(1000) }))();
  }
});

test("does not judge another machine's process", async () => {
  for (const change of [{ host: `not-${hostname()}` }, { space: "pid:[1]" }]) {
    const folder = join(temporaryFolder(), "cache");
    await plant(folder, { ...change, pid: 2 ** 22 + 1 });
    await expect(acquireLock(folder)).rejects.toMatchObject({
      code: "locked",
      next: expect.stringContaining(`${folder}.lock-`),
    });
  }
});

test("a claim that is still being written counts", async () => {
  const folder = join(temporaryFolder(), "cache");
  await plant(folder, "");
  await expect(acquireLock(folder, { signal: AbortSignal.timeout(400) })).rejects.toMatchObject({
    code: "aborted",
  });
});

test("a cache that is being unpacked is not removed", async () => {
  const { folder } = makeCache(temporaryFolder());
  const release = await acquireLock(folder);
  expect(() => removeCache(folder)).toThrow(expect.objectContaining({ code: "locked" }));
  release();
  removeCache(folder);
});
