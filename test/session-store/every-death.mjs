// @ts-check
// Saves a conversation of some turns after every turn, each time in a folder of its own, and dies (as far as the disk can
// tell) before the first operation that changes something there, the second, and so on until one gets to the end. Half of
// the deaths come in the middle of a write.
// Prints, for each death, how many turns had been saved before.
//
//     node every-death.mjs FOLDER TURNS        leaves FOLDER/0/chat.session, FOLDER/1/chat.session, …
import fs from "node:fs";
import promises from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { conversation } from "./conversation.mjs";

const [folder, turns] = process.argv.slice(2);
let left = Number.POSITIVE_INFINITY;

/** @param {any} object @param {string} name */
function mortal(object, name) {
  const original = object[name];
  /** @this {unknown} @param {any[]} values */
  object[name] = async function (...values) {
    // What comes after a death happens no more.
    if (left < 0) throw new Error("dead");
    if (--left >= 0) return original.apply(this, values);
    const [bytes, offset, length, position] = values;
    if (name === "write" && length > 1) await original.call(this, bytes, offset, length >> 1, position);
    throw new Error("dead");
  };
}

const handle = await promises.open(process.execPath);
for (const name of ["write", "sync", "datasync", "truncate"]) mortal(Object.getPrototypeOf(handle), name);
await handle.close();
for (const name of ["mkdir", "rename", "rm"]) mortal(promises, name);
syncBuiltinESMExports();

const { SessionWriter } = await import("../../dist/session-store/session-writer.js");

/** @param {string} path @param {number} death */
async function savedBefore(path, death) {
  const writer = new SessionWriter(path);
  let saved = 0;
  try {
    left = death;
    for (; saved < Number(turns); saved++) {
      const { content, blocks } = conversation(saved + 1);
      await writer.save(content, blocks);
    }
  } catch (error) {
    if (left >= 0) throw error;
  } finally {
    left = Number.POSITIVE_INFINITY;
  }
  return saved;
}

const counts = [];
for (let death = 0; counts.at(-1) !== Number(turns); death++) {
  const target = join(folder, `${death}`);
  fs.mkdirSync(target, { recursive: true });
  counts.push(await savedBefore(join(target, "chat.session"), death));
}
process.stdout.write(JSON.stringify(counts));
