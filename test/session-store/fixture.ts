import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect } from "vitest";
import { SavedSession } from "../../src/session-store/saved-session.ts";
import { SessionWriter } from "../../src/session-store/session-writer.ts";
import { conversation } from "./conversation.mjs";

/** A folder that is removed after the tests of the file. */
export function sessionFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "sluice-sessions-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Save a conversation after each turn. */
export async function saveTurns(
  path: string,
  turns: number,
  options: Parameters<typeof conversation>[1] = {},
): Promise<SessionWriter> {
  const writer = new SessionWriter(path);
  for (let turn = 1; turn <= turns; turn++) {
    const { content, blocks } = conversation(turn, options);
    await writer.save(content, blocks);
  }
  return writer;
}

/** What a file holds, its KV cache included. */
export async function readAll(path: string) {
  const saved = await SavedSession.open(path);
  try {
    const { sluice, blocks: offsets, ...content } = saved.head;
    const blocks: Uint8Array[] = [];
    for (const index of offsets.keys()) {
      const target = new Uint8Array(content.model.kv.blockBytes).fill(0xa5);
      await saved.readBlock(target, index);
      blocks.push(target);
    }
    return { content, blocks, condition: saved.condition, whole: saved.whole };
  } finally {
    await saved.close();
  }
}

/** Expect a file to be as of a number of turns, to the last byte. */
export async function expectTurns(path: string, turns: number, where = ""): Promise<void> {
  const { content, blocks } = await readAll(path);
  const want = conversation(turns);
  expect(content, where).toEqual(want.content);
  expect(blocks.length, where).toBe(want.blocks.length);
  for (const [index, { bytes }] of want.blocks.entries())
    expect(Buffer.compare(blocks[index], bytes), `${where} block ${index}`).toBe(0);
}
