import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, test } from "vitest";
import { openCache } from "../../src/store/cache.ts";
import { acquireLock } from "../../src/store/lock.ts";
import { encodeMessage } from "../../src/store/manifest.ts";
import type { UnpackEvent, UnpackOptions } from "../../src/unpack/types.ts";
import { unpack } from "../../src/unpack/unpack.ts";
import { folderContent, makeFile, temporaryFolder } from "./models.ts";

const model = makeFile();
const undisturbed = await unpack(model, { root: temporaryFolder() });

/** Unpack and stop after so many files. */
async function unpackPartly(
  path: string,
  options: Omit<UnpackOptions, "signal">,
  files: number,
): Promise<unknown> {
  const controller = new AbortController();
  let done = 0;
  const onProgress = (event: UnpackEvent) => {
    if (event.type === "file-done" && ++done === files) controller.abort();
  };
  return unpack(path, { ...options, signal: controller.signal, onProgress }).catch((error) => error);
}

describe("a finished cache", () => {
  test("is found again, whatever the file is called and when it was touched", async () => {
    const root = temporaryFolder();
    const path = makeFile({ layers: 1 }, "first.gguf");
    const { folder } = await unpack(path, { root });
    const moved = join(temporaryFolder(), "second.gguf");
    cpSync(path, moved);
    const events: UnpackEvent[] = [];
    const again = await unpack(moved, { root, onProgress: (event) => events.push(event) });
    expect(again).toMatchObject({ folder, reused: true, resumed: 0 });
    expect(events).toEqual([]);
  });

  test("of each dtype and compression has its own folder", async () => {
    const root = temporaryFolder();
    await unpack(model, { root });
    await unpack(model, { root, dtype: "q8" });
    await unpack(model, { root, compression: "lz4" });
    const names = readdirSync(root).map((name) => name.replace(/[0-9a-f]{12}/, "#"));
    expect(names.sort()).toEqual(["model-#-f32", "model-#-f32-lz4", "model-#-q8"]);
  });

  test("that is damaged is refused by the file's name, and replaced by force", async () => {
    const root = temporaryFolder();
    const { folder } = await unpack(model, { root });
    truncateSync(join(folder, "layer-02.bin"), 4096);
    await expect(unpack(model, { root })).rejects.toMatchObject({
      code: "bad-cache",
      message: expect.stringContaining("layer-02.bin is truncated"),
      next: expect.stringContaining("--force"),
    });
    expect((await unpack(model, { root, force: true })).reused).toBe(false);
    expect(folderContent(folder)).toEqual(folderContent(undisturbed.folder));
    expect(readdirSync(root)).toEqual([basename(folder)]);
  });
});

test("a cache of another format is replaced, and that is said", async () => {
  const root = temporaryFolder();
  const { folder, manifest } = await unpack(model, { root });
  writeFileSync(join(folder, "manifest.msgpack"), encodeMessage({ ...manifest, format: 1 }));
  expect(() => openCache(folder)).toThrow(
    expect.objectContaining({ code: "bad-cache", next: expect.not.stringContaining("--force") }),
  );
  const events: UnpackEvent[] = [];
  const again = await unpack(model, { root, onProgress: (event) => events.push(event) });
  expect(again.reused).toBe(false);
  expect(events[0]).toEqual({ type: "outdated", folder, format: 1 });
  expect(readdirSync(root)).toEqual([basename(folder)]);
  expect(folderContent(folder)).toEqual(folderContent(undisturbed.folder));
});

describe("an interrupted unpack", () => {
  test("continues after the files that are complete", async () => {
    const root = temporaryFolder();
    expect(await unpackPartly(model, { root }, 3)).toMatchObject({
      code: "aborted",
      next: expect.stringContaining("continues"),
    });
    const kept: string[] = [];
    const result = await unpack(model, {
      root,
      onProgress: (event) => event.type === "kept" && kept.push(event.file),
    });
    expect(kept).toEqual(["embedding.bin", "layer-00.bin", "layer-01.bin"]);
    expect(result).toMatchObject({ reused: false, resumed: 3 });
    expect(Object.keys(result.manifest.timing)).toHaveLength(6);
    expect(folderContent(result.folder)).toEqual(folderContent(undisturbed.folder));
  });

  test("does not trust what was changed since", async () => {
    const root = temporaryFolder();
    await unpackPartly(model, { root }, 3);
    const folder = join(root, basename(undisturbed.folder));
    const bytes = readFileSync(join(folder, "layer-00.bin"));
    bytes[5000] ^= 1;
    writeFileSync(join(folder, "layer-00.bin"), bytes);
    truncateSync(join(folder, "layer-01.bin"), 4096);
    writeFileSync(join(folder, "layer-03.bin.partial"), "half");
    const result = await unpack(model, { root });
    expect(result.resumed).toBe(1);
    expect(folderContent(folder)).toEqual(folderContent(undisturbed.folder));
  });

  test("starts anew when its journal is unreadable or the model file was changed", async () => {
    const spoilings: ((folder: string, path: string) => void)[] = [
      (folder) => writeFileSync(join(folder, "unpack.msgpack"), "?"),
      (folder) => rmSync(join(folder, "unpack.msgpack")),
      (_, path) => utimesSync(path, new Date(), new Date(0)),
    ];
    for (const spoil of spoilings) {
      const root = temporaryFolder();
      const path = makeFile();
      await unpackPartly(path, { root }, 3);
      spoil(join(root, readdirSync(root)[0]), path);
      const result = await unpack(path, { root });
      expect(result.resumed).toBe(0);
      expect(folderContent(result.folder)).toEqual(folderContent(undisturbed.folder));
    }
  });

  test("leaves nothing when it had finished nothing", async () => {
    const root = temporaryFolder();
    const controller = new AbortController();
    const onProgress = (event: UnpackEvent) => event.type === "file" && controller.abort();
    const attempt = unpack(model, { root, signal: controller.signal, onProgress });
    await expect(attempt).rejects.toMatchObject({ code: "aborted" });
    expect(readdirSync(root)).toEqual([]);
  });

  test("takes no leftovers of the end for unfinished", async () => {
    const root = temporaryFolder();
    const { folder } = await unpack(model, { root });
    // As if killed between writing the manifest and removing the journal.
    writeFileSync(join(folder, "unpack.msgpack"), "?");
    expect((await unpack(model, { root })).reused).toBe(true);
    expect(folderContent(folder)).toEqual(folderContent(undisturbed.folder));
  });
});

describe("force", () => {
  test("keeps the finished cache until the new one is complete", async () => {
    const root = temporaryFolder();
    const { folder } = await unpack(model, { root });
    expect(await unpackPartly(model, { root, force: true }, 2)).toMatchObject({ code: "aborted" });
    expect(readdirSync(root)).toEqual([basename(folder)]);
    openCache(folder);
    expect(folderContent(folder)).toEqual(folderContent(undisturbed.folder));
  });

  test("that was cut off anywhere in the exchange comes to a good end", async () => {
    for (const leave of [
      // Killed while making the new one; between the two renames; before the old one is deleted.
      (folder: string) => cpSync(folder, `${folder}.new`, { recursive: true }),
      (folder: string) => {
        cpSync(folder, `${folder}.new`, { recursive: true });
        renameSync(folder, `${folder}.old`);
      },
      (folder: string) => renameSync(folder, `${folder}.old`),
      (folder: string) => cpSync(folder, `${folder}.old`, { recursive: true }),
    ]) {
      const root = temporaryFolder();
      const { folder } = await unpack(model, { root });
      leave(folder);
      await unpack(model, { root, force: existsSync(folder) });
      expect(readdirSync(root)).toEqual([basename(folder)]);
      expect(folderContent(folder)).toEqual(folderContent(undisturbed.folder));
    }
  });
});

describe("two at once", () => {
  test("one unpacks, the other waits and uses the result", async () => {
    const root = temporaryFolder();
    const [first, second] = await Promise.all([unpack(model, { root }), unpack(model, { root })]);
    expect([first.reused, second.reused].sort()).toEqual([false, true]);
    expect(folderContent(first.folder)).toEqual(folderContent(undisturbed.folder));
    expect(readdirSync(root)).toEqual([basename(first.folder)]);
  });

  test("the one that waits says for whom, and can be stopped", async () => {
    const root = temporaryFolder();
    const release = await acquireLock(join(root, basename(undisturbed.folder)));
    const events: UnpackEvent[] = [];
    const signal = AbortSignal.timeout(600);
    await expect(
      unpack(model, { root, signal, onProgress: (event) => events.push(event) }),
    ).rejects.toMatchObject({ code: "aborted" });
    expect(events).toMatchObject([{ type: "waiting", holder: { pid: process.pid } }]);
    release();
  });
});

describe("trouble with the model file", () => {
  test("that changes while it is read", async () => {
    const root = temporaryFolder();
    const path = makeFile();
    const onProgress = (event: UnpackEvent) =>
      event.type === "file-done" &&
      event.file === "layer-00.bin" &&
      utimesSync(path, new Date(), new Date(0));
    await expect(unpack(path, { root, onProgress })).rejects.toMatchObject({
      code: "bad-model",
      message: expect.stringContaining("changed"),
    });
    const [folder] = readdirSync(root);
    expect(readdirSync(join(root, folder)).filter((name) => name.endsWith(".partial"))).toEqual([]);
  });

  test("that shrinks while it is read", async () => {
    const root = temporaryFolder();
    const path = makeFile();
    const onProgress = (event: UnpackEvent) => event.type === "start" && truncateSync(path, 100_000);
    await expect(unpack(path, { root, onProgress })).rejects.toMatchObject({ code: "bad-model" });
    expect(readdirSync(root)).toEqual([]);
  });
});

describe("trouble with the folder", () => {
  test("that is a file, or in one", async () => {
    const file = join(temporaryFolder(), "file");
    writeFileSync(file, "");
    for (const root of [file, join(file, "below")])
      await expect(unpack(model, { root })).rejects.toMatchObject({
        code: "io",
        message: expect.stringContaining(root),
      });
  });

  test.runIf(process.getuid?.() !== 0 && process.platform !== "win32")(
    "that may not be written",
    async () => {
      const root = join(temporaryFolder(), "locked");
      mkdirSync(root, { mode: 0o500 });
      await expect(unpack(model, { root })).rejects.toMatchObject({ code: "io" });
      chmodSync(root, 0o700);
    },
  );
});
