import { readFileSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { LogWriter, PREAMBLE_BYTES, preamble, writeFully } from "../../src/session-store/log.ts";
import { SavedSession } from "../../src/session-store/saved-session.ts";
import { SessionWriter } from "../../src/session-store/session-writer.ts";
import { encodeMessage } from "../../src/store/manifest.ts";
import { conversation } from "./conversation.mjs";
import { expectTurns, readAll, saveTurns, sessionFolder } from "./fixture.ts";

const folder = sessionFolder();
let files = 0;

/** A file of three saves, with other bytes. */
async function changed(change: (bytes: Buffer) => Buffer): Promise<string> {
  const path = join(folder, `${files++}.session`);
  await saveTurns(path, 3);
  writeFileSync(path, change(readFileSync(path)));
  return path;
}

function flipped(bytes: Buffer, ...positions: number[]): Buffer {
  for (const at of positions) bytes[at] ^= 0x20;
  return bytes;
}

/** Where a text begins, everywhere. */
function placesOf(text: string, bytes: Buffer): number[] {
  const found: number[] = [];
  for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text, at + 1)) found.push(at);
  return found;
}

async function opened<T>(path: string, use: (saved: SavedSession) => T | Promise<T>): Promise<T> {
  const saved = await SavedSession.open(path);
  try {
    return await use(saved);
  } finally {
    await saved.close();
  }
}

describe("a damaged file", () => {
  test("keeps its text where only the KV cache is damaged", async () => {
    const path = await changed((bytes) => flipped(bytes, 100));
    await opened(path, async (saved) => {
      expect(saved.condition).toBe("sound");
      expect(saved.head.messages).toEqual(conversation(3).content.messages);
      const read = saved.readBlock(new Uint8Array(3000), 0);
      await expect(read).rejects.toMatchObject({
        code: "bad-session",
        message: expect.stringContaining(path),
      });
      await saved.readBlock(new Uint8Array(3000), 1);
    });
  });

  test("keeps its text where already the first record cannot be told", async () => {
    const path = await changed((bytes) => flipped(bytes, 17));
    await opened(path, (saved) => {
      expect(saved.whole).toBe(false);
      expect(saved.head.messages).toEqual(conversation(3).content.messages);
    });
  });

  test("is read and mended where any of its first bytes is damaged", async () => {
    for (let at = 0; at < 16; at++) {
      const path = await changed((bytes) => flipped(bytes, at));
      await opened(path, (saved) => {
        expect(saved).toMatchObject({ condition: "sound", begins: false, whole: false });
      });
      await expectTurns(path, 3, `byte ${at}`);
      const writer = new SessionWriter(path);
      await opened(path, (saved) => writer.adopt(saved, []));
      const { content, blocks } = conversation(4);
      await writer.save(content, blocks);
      await opened(path, (saved) => expect(saved).toMatchObject({ begins: true, whole: true }));
      await expectTurns(path, 4, `byte ${at}`);
    }
  });

  test("is as of the save before where the last one is damaged", async () => {
    const path = await changed((bytes) => flipped(bytes, placesOf("HEAD", bytes).at(-1)! + 60));
    await opened(path, (saved) => expect(saved.condition).toBe("older"));
    expect((await readAll(path)).content).toEqual(conversation(2).content);
  });

  test("gives the text that it can where no save is sound, and no KV cache", async () => {
    // A letter of the first question, in every save.
    const path = await changed((bytes) => flipped(bytes, ...placesOf("Question 0", bytes)));
    await opened(path, (saved) => {
      expect(saved.condition).toBe("damaged");
      expect(saved.hasKv).toBe(false);
      expect(saved.head.messages[0].content).toMatch(/^question 0/);
    });
  });

  test("never crashes, whatever byte is changed", async () => {
    const path = join(folder, "any.session");
    await saveTurns(path, 2);
    const bytes = readFileSync(path);
    for (let at = 0; at < bytes.length; at += 61) {
      writeFileSync(path, flipped(Buffer.from(bytes), at));
      const got = await readAll(path).then(
        ({ content }) => content.messages.length,
        (error) => error.code,
      );
      expect([2, 4, "bad-session"], `byte ${at}`).toContain(got);
    }
  });

  test.each([
    ["empty", Buffer.alloc(0), /does not begin as a session does/],
    ["another file", Buffer.from("# Notes\nsome text of mine"), /does not begin as a session does/],
    ["only a beginning", Buffer.from("sluice chat\n\x01\0\0\0", "latin1"), /it has no text/],
    [
      "of another format",
      Buffer.from("sluice chat\n\x63\0\0\0", "latin1"),
      /session format 99, this sluice reads 1/,
    ],
  ])("that is %s is refused, with its name", async (_, bytes, message) => {
    const path = await changed(() => bytes);
    const error = await SavedSession.open(path).catch((thrown) => thrown);
    expect(error).toMatchObject({ code: "bad-session", message: expect.stringMatching(message) });
    expect(error.message).toContain(path);
    expect(error.next).toBeTruthy();
  });

  test("whose head is none is refused", async () => {
    const path = join(folder, "odd.session");
    const { content } = conversation(1);
    for (const odd of [
      null,
      [],
      { ...content, ids: [1, 2], blocks: [], sluice: "1" },
      { ...content, ids: Buffer.alloc(3), blocks: [], sluice: "1" },
      { ...content, ids: Buffer.alloc(4), blocks: [["x"]], sluice: "1" },
      { ...content, ids: Buffer.alloc(4), blocks: [], sluice: "1", changed: "yesterday" },
      { ...content, ids: Buffer.alloc(4), blocks: [], sluice: "1", messages: [{ role: "user" }] },
      { ...content, ids: Buffer.alloc(4), blocks: [], sluice: "1", model: {} },
    ]) {
      const file = await open(path, "w");
      await writeFully(file, preamble(), 0);
      await new LogWriter(file, PREAMBLE_BYTES).add("HEAD", encodeMessage(odd));
      await file.close();
      await expect(SavedSession.open(path)).rejects.toMatchObject({ code: "bad-session" });
    }
  });
});

test("a file that is not there is told", async () => {
  const path = join(folder, "nowhere.session");
  await expect(SavedSession.open(path)).rejects.toMatchObject({ code: "bad-input" });
});
