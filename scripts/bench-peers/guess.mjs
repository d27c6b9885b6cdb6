// @ts-check
/**
 * sluice's speed with tokens guessed ahead, as one line of JSON:
 * node guess.mjs DIST FOLDER DRAFT ACCEPTANCE TOKENS THREADS [RAM]
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [dist, folder, draft, acceptance, tokens, threads, ram] = process.argv.slice(2);
/** @param {string} name */
const load = (name) => import(pathToFileURL(join(dist, name)).href);
const { Engine } = await load("engine/engine.js");
const { openCache } = await load("store/cache.js");
const { openDrafts } = await load("engine/draft/open-drafts.js");
const { prepareShadow } = await load("engine/draft/prepare-shadow.js");
const { Drafter } = await load("engine/draft/drafter.js");
const { guessedPositions, runGuessed } = await load("engine/draft/guessed-run.js");

const cache = openCache(folder);
const { vocabulary } = cache.manifest.model;
const options = { threads: Number(threads), contextLength: 1024, ram: ram ? Number(ram) : undefined };
const drafts = draft === "none" ? [] : [draft];
const engine = new Engine(cache, { ...options, shadow: draft === "shadow" });
if (draft === "shadow") await prepareShadow(engine, cache, options);
const source = openDrafts(drafts, cache, options);
const drafter = new Drafter(source.create(engine), vocabulary);
const run = { drafter, vocabulary, acceptance: Number(acceptance), observed: false };
const sequence = engine.createSequence(guessedPositions(Number(tokens)));
// The first sweeps fill memory, and guessing finds its pace.
await runGuessed(engine, sequence, Math.min(24, Number(tokens)), run);
const { ms, sweeps } = await runGuessed(engine, sequence, Number(tokens), run);
const peak = Number(/VmHWM:\s+(\d+)/.exec(readFileSync("/proc/self/status", "utf8"))?.[1]) * 1024;
const shadow = engine.shadow?.dtype;
console.log(
  JSON.stringify({ msPerToken: ms / Number(tokens), perSweep: Number(tokens) / sweeps.length, shadow, peak }),
);
await engine.close();
await source.close();
