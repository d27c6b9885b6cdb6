// @ts-check
/**
 * Holds answers that were guessed at against those of plain decoding, token for token.
 *
 *     npm run build && node scripts/check-speculation.mjs [MODEL.gguf] [--prompts FILE.json] [--all]
 *
 * The model (the bundled one where none is given) is unpacked as f32, native, f16 and q8 into a temporary folder; each
 * of them answers 200 made-up prompts, and those of a file like `[[id, …], …]`, with each draft and with 1 to 16 guessed
 * tokens a sweep: each prompt with one of these counts, or with --all with every one; greedily, and every fourth prompt
 * with a seed and temperature 1. Exits with 1 where a token differs.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Drafter } from "../dist/engine/draft/drafter.js";
import { Lookup } from "../dist/engine/draft/lookup.js";
import { ModelDraft } from "../dist/engine/draft/model-draft.js";
import { ShadowDraft } from "../dist/engine/draft/shadow-draft.js";
import { Engine } from "../dist/engine/engine.js";
import { Session } from "../dist/engine/session.js";
import { unpack } from "../dist/index.js";
import { ensureShadow } from "../dist/shadow/make-shadow.js";
import { openCache } from "../dist/store/cache.js";
import { SHADOW_DTYPES, shadowWeights } from "../dist/store/shadow.js";
import { createTokenizer } from "../dist/text/tokenizer.js";
import { decodeTokenizerData } from "../dist/text/tokenizer-data.js";

const CONTEXT = 600;
const TOKENS = 32;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { prompts: { type: "string" }, all: { type: "boolean", default: false } },
});
const [path = join(import.meta.dirname, "../models/tiny-chat-q8_0.gguf")] = positionals;
const root = mkdtempSync(join(tmpdir(), "sluice-check-"));

/** The same numbers each time. @param {number} seed */
function numbers(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Prompts that repeat themselves now and then. @param {number} vocabulary */
function* madeUp(vocabulary) {
  const next = numbers(1);
  for (let prompt = 0; prompt < 200; prompt++) {
    const ids = Array.from({ length: 4 + Math.floor(next() * 40) }, () => Math.floor(next() * vocabulary));
    yield prompt % 3 === 0 ? [...ids, ...ids] : ids;
  }
}

let answers = 0;
let differences = 0;
/** @type {Map<string, { proposed: number, accepted: number }>} */
const counts = new Map();
try {
  for (const dtype of /** @type {const} */ (["f32", "native", "f16", "q8"])) {
    const cache = openCache((await unpack(path, { root, dtype })).folder);
    const { model, tokenizer: file } = cache.manifest;
    const tokenizer = createTokenizer(decodeTokenizerData(readFileSync(join(cache.folder, file.name))));
    const given = values.prompts ? JSON.parse(readFileSync(values.prompts, "utf8")) : [];
    const prompts = [...given, ...madeUp(model.vocabulary)];
    const plain = new Engine(cache, { contextLength: CONTEXT });
    /** @type {Record<string, Engine>} */
    const engines = { lookup: plain, model: plain };
    for (const bits of SHADOW_DTYPES) {
      const bytes = bytesOf(shadowWeights(cache.manifest, bits));
      const ram = plain.ringBytes + bytes;
      if (bytes >= plain.streamedBytes) continue;
      const engine = new Engine(cache, { contextLength: CONTEXT, ram, shadow: true });
      await ensureShadow(cache, bits);
      await engine.loadShadow();
      engines[`shadow ${engine.shadow?.dtype}`] = engine;
    }
    const small = new Engine(openCache((await unpack(path, { root, dtype: "q8" })).folder), {
      contextLength: CONTEXT,
    });
    const sessions = new Map();
    /** @param {string} name @param {number} count */
    const sessionOf = (name, count) => {
      const key = `${name} ${count}`;
      if (!sessions.has(key)) {
        const engine = engines[name] ?? plain;
        const draft =
          name === "lookup"
            ? new Lookup()
            : name === "model"
              ? new ModelDraft(small, model.vocabulary, CONTEXT)
              : new ShadowDraft(engine, model.vocabulary);
        const pace = {
          choose: (/** @type {string} */ _, /** @type {number} */ most) => Math.min(count, most),
          learn() {},
        };
        const drafts = count === 0 ? [] : [draft];
        sessions.set(
          key,
          new Session(engine, tokenizer, model, CONTEXT, new Drafter(drafts, model.vocabulary, pace)),
        );
      }
      return sessions.get(key);
    };
    for (const [index, prompt] of prompts.entries()) {
      const sampling = index % 4 === 3 ? { temperature: 1, seed: index } : { temperature: 0 };
      const want = await answer(sessionOf("plain", 0), prompt, sampling);
      for (const [place, name] of Object.keys(engines).entries()) {
        const some = [1 + ((index + 5 * place) % 16)];
        for (const count of values.all ? Array.from({ length: 16 }, (_, k) => k + 1) : some) {
          const got = await answer(sessionOf(name, count), prompt, sampling);
          answers++;
          const sum = counts.get(`${dtype} ${name}`) ?? { proposed: 0, accepted: 0 };
          for (const { proposed, accepted } of got.drafts) {
            sum.proposed += proposed;
            sum.accepted += accepted;
          }
          counts.set(`${dtype} ${name}`, sum);
          if (got.ids.join() === want.ids.join()) continue;
          differences++;
          console.log(
            `${dtype}, ${name}, ${count} tokens, prompt ${index}: ${got.ids} instead of ${want.ids}`,
          );
        }
      }
    }
    for (const engine of new Set([...Object.values(engines), small])) await engine.close();
  }
} finally {
  rmSync(root, { recursive: true, force: true });
}
for (const [name, { proposed, accepted }] of counts)
  console.log(`${name.padEnd(16)} ${accepted} of ${proposed} guessed tokens held`);
console.log(`${answers} answers, ${differences} of them other than plain decoding's`);
process.exitCode = differences === 0 ? 0 : 1;

/**
 * @param {Session} session
 * @param {readonly number[]} prompt
 * @param {import("../dist/index.js").SamplingOptions} sampling
 */
async function answer(session, prompt, sampling) {
  const tokens = session.generate(prompt, { sampling, maxTokens: TOKENS });
  for (;;) {
    const next = await tokens.next();
    if (next.done) return next.value;
  }
}

/** @param {ReturnType<typeof shadowWeights>} weights */
function bytesOf({ layers, output, embedding, model }) {
  const files = model.tiedOutput ? [output, embedding] : [output];
  return Math.max(...[...layers, ...files].map(({ bytes }) => bytes));
}
