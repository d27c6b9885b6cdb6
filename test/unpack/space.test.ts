import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { checkSpace, neededBytes } from "../../src/unpack/space.ts";
import { unpack } from "../../src/unpack/unpack.ts";
import { folderContent, makeFile, temporaryFolder } from "./models.ts";

const CHILD = fileURLToPath(new URL("unpack-child.mjs", import.meta.url));

test("too little space is told with the numbers and what would need less", () => {
  const folder = temporaryFolder();
  const smaller = new Map([["q8", 2 ** 60]] as const);
  const question = { folder, needed: 2 ** 62, dtype: "f32", compression: "none", smaller } as const;
  expect(() => checkSpace(question)).toThrow(
    expect.objectContaining({
      code: "no-space",
      message: expect.stringMatching(/needs 4,611,686,018,427,388,000 bytes .* has [\d,]+ bytes \(.*\) free/),
      next: expect.stringMatching(/--dtype q8 needs .* --compress lz4 .* --cache-dir/),
    }),
  );
  checkSpace({ ...question, needed: 4096 });
});

test("needed are whole pages, of compressed files at least the least that they can become", () => {
  const file = { name: "layer-00.bin", tensors: [], chunks: [], bytes: 8192, compressible: true };
  const embedding = { ...file, compressible: false };
  expect(neededBytes([file, embedding], "none", [1])).toBe(8192 + 8192 + 4096);
  expect(neededBytes([file, embedding], "lz4", [1])).toBe(4096 + 8192 + 4096);
});

test.runIf(process.platform === "linux")("a disk that becomes full leaves only complete files", async () => {
  const root = temporaryFolder();
  const path = makeFile({ type: "f16", width: 256, feedForward: 768, layers: 2 });
  const limited = (kilobytes: number, target = root) => {
    const command = `trap '' XFSZ; ulimit -f ${kilobytes}; exec "$0" "$@"`;
    const argv = ["-c", command, process.execPath, CHILD, path, target];
    return spawnSync("bash", argv, { encoding: "utf8" }).stdout.replace("start\n", "");
  };
  // Not even the embedding fits; then it does, but no layer.
  expect(JSON.parse(limited(200))).toMatchObject({ code: "no-space" });
  expect(readdirSync(root)).toEqual([]);
  // Nor are folders left that were made for it; one that was there stays.
  expect(JSON.parse(limited(200, join(root, "new", "deeper")))).toMatchObject({ code: "no-space" });
  expect(readdirSync(root)).toEqual([]);
  const error = JSON.parse(limited(1000));
  expect(error).toMatchObject({ code: "no-space", next: expect.stringContaining("continues") });
  expect(error.message).toMatch(/layer-00\.bin could not be written/);
  expect(error.next).toMatch(/ulimit -f/);
  const [folder] = readdirSync(root);
  expect(readdirSync(join(root, folder)).sort()).toEqual([
    "embedding.bin",
    "tokenizer.msgpack",
    "unpack.msgpack",
  ]);
  const result = await unpack(path, { root });
  expect(result.resumed).toBe(1);
  const undisturbed = await unpack(path, { root: temporaryFolder() });
  expect(folderContent(result.folder)).toEqual(folderContent(undisturbed.folder));
});
