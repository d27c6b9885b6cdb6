// @ts-check
/** The disk alone, reading what a sweep reads as the reader thread reads it: node disk.mjs DIST FOLDER SWEEPS */
import { closeSync, readvSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [dist, folder, sweeps] = process.argv.slice(2);
/** @param {string} path */
const load = (path) => import(pathToFileURL(join(dist, path)).href);
const { openCache } = await load("store/cache.js");
const { planSweep } = await load("stream/sweep-plan.js");
const { BATCH_CHUNKS, createRing, slotOffset } = await load("stream/ring.js");
const { openFile } = await load("stream/open-file.js");

const plan = planSweep(folder, openCache(folder).manifest);
const ring = createRing(plan, plan.paths[0]);
const slots = new Uint8Array(ring.shared);
/** @type {number[]} */
const files = plan.paths.map((/** @type {string} */ path) => openFile(path, ring.direct));
const decodeMs = [];
let slot = 0;
for (let sweep = 0; sweep < Number(sweeps); sweep++) {
  const start = performance.now();
  for (let index = 0; index < plan.chunks.length; ) {
    const { file, offset } = plan.chunks[index];
    const targets = [];
    let end = offset;
    do {
      const at = slotOffset(ring, slot++ % ring.slots);
      const bytes = Math.ceil(plan.chunks[index].stored / 4096) * 4096;
      targets.push(slots.subarray(at, at + bytes));
      end += bytes;
      index++;
    } while (
      targets.length < BATCH_CHUNKS &&
      plan.chunks[index]?.file === file &&
      plan.chunks[index].offset === end
    );
    readvSync(files[file], targets, offset);
  }
  decodeMs.push(performance.now() - start);
}
for (const file of files) closeSync(file);
console.log(JSON.stringify({ decodeMs, peak: process.resourceUsage().maxRSS * 1024 }));
