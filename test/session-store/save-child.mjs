// @ts-check
// Saves a conversation after each of its turns in a process of its own; says on stdout how many are saved, and what error
// it ended with.
//
//     node save-child.mjs PATH FIRST LAST BLOCK_BYTES
import { writeSync } from "node:fs";
import { SavedSession } from "../../dist/session-store/saved-session.js";
import { SessionWriter } from "../../dist/session-store/session-writer.js";
import { conversation } from "./conversation.mjs";

const [path, first, last, blockBytes] = process.argv.slice(2);
const writer = new SessionWriter(path);
if (Number(first) > 1) {
  const saved = await SavedSession.open(path);
  writer.adopt(
    saved,
    conversation(Number(first) - 1).blocks.map(({ stamp }) => stamp),
  );
  await saved.close();
}
try {
  for (let turns = Number(first); turns <= Number(last); turns++) {
    const { content, blocks } = conversation(turns, { blockBytes: Number(blockBytes) });
    await writer.save(content, blocks);
    writeSync(1, `${turns}\n`);
  }
} catch (thrown) {
  const { code, message, next } = /** @type {import("../../src/errors.ts").SluiceError} */ (thrown);
  writeSync(1, JSON.stringify({ code, message, next }));
}
