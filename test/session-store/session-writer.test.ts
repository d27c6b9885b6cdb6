import { chmodSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, test } from "vitest";
import { SavedSession } from "../../src/session-store/saved-session.ts";
import { SessionWriter } from "../../src/session-store/session-writer.ts";
import { conversation } from "./conversation.mjs";
import { expectTurns, readAll, saveTurns, sessionFolder } from "./fixture.ts";

const folder = sessionFolder();
let files = 0;
const fresh = () => join(folder, `${files++}.session`);

test("what is saved comes back, to the last byte", async () => {
  const path = join(folder, "deep", "down", "chat.session");
  await saveTurns(path, 1);
  await expectTurns(path, 1);
  expect(readdirSync(join(folder, "deep", "down"))).toEqual(["chat.session"]);
});

test.runIf(process.platform !== "win32")("only its owner can read it", async () => {
  const path = join(folder, "private", "chat.session");
  await saveTurns(path, 3);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(statSync(join(folder, "private")).mode & 0o777).toBe(0o700);
});

test("a further save adds what is new, and leaves what is there", async () => {
  const path = fresh();
  const writer = await saveTurns(path, 4);
  const before = readFileSync(path);
  const { content, blocks } = conversation(5);
  await writer.save(content, blocks);
  const after = readFileSync(path);
  expect(after.subarray(0, before.length).equals(before)).toBe(true);
  // 20 tokens were full blocks all: two blocks are new, one of them half full.
  expect(after.length - before.length).toBeLessThan(2 * 3000 + 2000);
  await expectTurns(path, 5);
});

test("a process that finds a file goes on where the last one was", async () => {
  const path = fresh();
  await saveTurns(path, 3);
  const { length } = readFileSync(path);
  const writer = new SessionWriter(path);
  const saved = await SavedSession.open(path);
  writer.adopt(
    saved,
    conversation(3).blocks.map(({ stamp }) => stamp),
  );
  await saved.close();
  const { content, blocks } = conversation(4);
  await writer.save(content, blocks);
  expect(readFileSync(path).length - length).toBeLessThan(2 * 3000 + 2000);
  await expectTurns(path, 4);
});

test("blocks that were cut and filled again are written again", async () => {
  const path = fresh();
  const writer = await saveTurns(path, 4);
  const { content, blocks } = conversation(4);
  const changed = blocks.map((block, index) =>
    index < 2 ? block : { stamp: 7000 + index, bytes: block.bytes.map((byte) => byte ^ 1) },
  );
  await writer.save(content, changed);
  expect((await readAll(path)).blocks).toEqual(changed.map(({ bytes }) => bytes));
});

test("outdated records do not pile up", async () => {
  const path = fresh();
  const text = "long ".repeat(40_000);
  const writer = await saveTurns(path, 1, { text });
  let largest = 0;
  for (let i = 0; i < 15; i++) {
    const { content, blocks } = conversation(2, { text });
    await writer.save(content, blocks);
    largest = Math.max(largest, statSync(path).size);
  }
  // 400 kB of text, and 1 MiB and a little that is put up with, though 6 MB were written.
  expect(largest).toBeLessThan(2e6);
  expect((await readAll(path)).content).toEqual(conversation(2, { text }).content);
});

test("a block of several pieces, not all of them full", async () => {
  const path = fresh();
  const options = { blockBytes: 2_500_000 };
  await saveTurns(path, 1, options);
  const { blocks } = await readAll(path);
  const want = conversation(1, options).blocks;
  expect(want.map(({ bytes }, index) => Buffer.compare(bytes, blocks[index]))).toEqual([0, 0]);
  // Half of the second is zeros.
  expect(statSync(path).size).toBeLessThan(1.52 * 2_500_000);
});

test("only text", async () => {
  const path = fresh();
  const { content } = conversation(2);
  await new SessionWriter(path).save(content, []);
  expect(await readAll(path)).toMatchObject({ content, blocks: [] });
});

describe("a file that is not as it was left", () => {
  test("is not overwritten where another process has saved", async () => {
    const path = fresh();
    const first = await saveTurns(path, 1);
    const second = new SessionWriter(path);
    const saved = await SavedSession.open(path);
    second.adopt(saved, []);
    await saved.close();
    const { content, blocks } = conversation(2);
    await second.save(content, blocks);
    const refused = first.save(content, blocks);
    await expect(refused).rejects.toMatchObject({
      code: "locked",
      message: expect.stringContaining("another"),
    });
    await expect(new SessionWriter(path).save(content, blocks)).rejects.toMatchObject({ code: "locked" });
    await expectTurns(path, 2);
  });

  test.each([
    ["adding to it", 0],
    ["writing it anew", 1],
    ["making it", 2],
  ])("two that save at the same moment do not damage it: %s", async (_, way) => {
    const path = fresh();
    if (way < 2) await saveTurns(path, 2);
    if (way === 1) truncateSync(path, statSync(path).size - 1);
    const writers = [new SessionWriter(path), new SessionWriter(path)];
    for (const writer of way < 2 ? writers : []) {
      const saved = await SavedSession.open(path);
      const stamps = conversation(way === 0 ? 2 : 1).blocks.map(({ stamp }) => stamp);
      writer.adopt(saved, stamps);
      await saved.close();
    }
    const { content, blocks } = conversation(3);
    const done = await Promise.allSettled(writers.map((writer) => writer.save(content, blocks)));
    expect(done.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    expect(done.find(({ status }) => status === "rejected")).toMatchObject({ reason: { code: "locked" } });
    await expectTurns(path, 3);
    expect((await readAll(path)).whole).toBe(true);
    expect(readdirSync(folder).filter((name) => name.startsWith(`${basename(path)}.`))).toEqual([]);
  });

  test("is not replaced by one whose last save failed, where another process has saved since", async () => {
    const path = fresh();
    const first = await saveTurns(path, 1);
    const broken = [{ stamp: 1, bytes: undefined as unknown as Uint8Array }];
    await expect(first.save(conversation(2).content, broken)).rejects.toThrow();
    const second = new SessionWriter(path);
    const saved = await SavedSession.open(path);
    second.adopt(saved, []);
    await saved.close();
    const { content, blocks } = conversation(3);
    await second.save(content, blocks);
    await expect(first.save(conversation(2).content, [])).rejects.toMatchObject({ code: "locked" });
    await expectTurns(path, 3);
  });

  test("is made again where it was deleted", async () => {
    const path = fresh();
    const writer = await saveTurns(path, 2);
    rmSync(path);
    const { content, blocks } = conversation(3);
    await writer.save(content, blocks);
    await expectTurns(path, 3);
  });

  test("is written anew where a save was cut short", async () => {
    const path = fresh();
    await saveTurns(path, 3);
    truncateSync(path, statSync(path).size - 1);
    const saved = await SavedSession.open(path);
    expect(saved.whole).toBe(false);
    const writer = new SessionWriter(path);
    writer.adopt(
      saved,
      conversation(2).blocks.map(({ stamp }) => stamp),
    );
    await saved.close();
    const { content, blocks } = conversation(3);
    await writer.save(content, blocks);
    await expectTurns(path, 3);
    expect((await readAll(path)).whole).toBe(true);
  });
});

describe("a folder that takes nothing", () => {
  test("is told with its name", async () => {
    const file = fresh();
    writeFileSync(file, "");
    const { content } = conversation(1);
    const failed = new SessionWriter(join(file, "chat.session")).save(content, []);
    await expect(failed).rejects.toMatchObject({ code: "io", message: expect.stringContaining(file) });
  });

  test.runIf(process.getuid?.() !== 0)("leaves nothing behind", async () => {
    const path = join(folder, "closed", "chat.session");
    const writer = await saveTurns(path, 1);
    chmodSync(path, 0o400);
    const { content, blocks } = conversation(2);
    await expect(writer.save(content, blocks)).rejects.toMatchObject({ code: "io" });
    await expectTurns(path, 1);
  });
});
