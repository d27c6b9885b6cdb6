// @ts-check
// Unpacks a model again and again, each time into a folder of its own, and dies (as far as the disk can tell) before
// the first operation that changes something there, the second, and so on until one gets to the end.
// Prints the number of deaths.
//
//     node every-death.mjs MODEL FOLDER [force]        leaves FOLDER/1, FOLDER/2, …
import fs from "node:fs";
import promises from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";

const [model, folder, force] = process.argv.slice(2);
const NOBODY = 2 ** 22 + 1;
let left = Number.POSITIVE_INFINITY;

/** @param {any} object @param {string} name */
function mortal(object, name) {
  const original = object[name];
  /** @this {unknown} @param {unknown[]} values */
  object[name] = function (...values) {
    if (--left < 0) throw new Error("dead");
    return original.apply(this, values);
  };
}

const handle = await promises.open(process.execPath);
for (const name of ["write", "sync", "datasync"]) mortal(Object.getPrototypeOf(handle), name);
await handle.close();
for (const name of ["mkdirSync", "writeFileSync", "renameSync", "rmSync", "rmdirSync"]) mortal(fs, name);
mortal(promises, "open");
syncBuiltinESMExports();

const { unpack } = await import("../../dist/unpack/unpack.js");

/** @param {string} root */
async function finishesBefore(root, /** @type {number} */ death) {
  if (force) await unpack(model, { root });
  try {
    left = death;
    await unpack(model, { root, force: force === "force" });
    return true;
  } catch (error) {
    if (left >= 0) throw error;
    return false;
  } finally {
    left = Number.POSITIVE_INFINITY;
  }
}

let deaths = 0;
while (!(await finishesBefore(join(folder, `${deaths}`), deaths))) {
  const root = join(folder, `${deaths++}`);
  if (!fs.existsSync(root)) continue;
  // This process lives on: make its claim that of one which does not.
  for (const claim of fs.readdirSync(root).filter((name) => name.includes(".lock-"))) {
    const path = join(root, claim);
    fs.writeFileSync(path, JSON.stringify({ ...JSON.parse(fs.readFileSync(path, "utf8")), pid: NOBODY }));
  }
}
process.stdout.write(`${deaths}\n`);
