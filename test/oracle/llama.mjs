// @ts-check
import { getLlama } from "node-llama-cpp";

/** Keys and values as they are. @type {import("node-llama-cpp").LlamaContextOptions} */
const EXACT = {
  experimentalKvCacheKeyType: "F32",
  experimentalKvCacheValueType: "F32",
  flashAttention: false,
};

/**
 * Greedy decoding by llama.cpp, with its probabilities.
 *
 * @param {string} path
 * @param {string} text plain text; special tokens in it are not recognised
 * @param {number} steps
 * @returns {Promise<{prompt: number[], steps: {id: number, probabilities: Map<number, number>}[]}>}
 */
export async function greedy(path, text, steps) {
  const llama = await getLlama({ gpu: false, build: "never", logLevel: /** @type {any} */ ("error") });
  const model = await llama.loadModel({ modelPath: path, useMmap: true });
  const context = await model.createContext({ contextSize: 512, threads: 2, ...EXACT });
  const prompt = model.tokenize(text);
  const result = [];
  const tokens = context
    .getSequence()
    .evaluateWithMetadata(prompt, { probabilities: true }, { temperature: 0 });
  for await (const { token, probabilities } of tokens) {
    result.push({
      id: Number(token),
      probabilities: new Map([...probabilities].map(([id, p]) => [Number(id), p])),
    });
    if (result.length === steps) break;
  }
  await llama.dispose();
  return { prompt: prompt.map(Number), steps: result };
}

/**
 * What llama.cpp says after some positions of a text, and how it goes on.
 *
 * @param {string} path
 * @param {readonly number[]} ids
 * @param {readonly number[]} positions
 * @param {number} contextSize
 * @returns {Promise<{probabilities: Map<number, number>[], greedy: number[]}>} and 12 tokens
 */
export async function distributions(path, ids, positions, contextSize) {
  const llama = await getLlama({ gpu: false, build: "never", logLevel: /** @type {any} */ ("error") });
  const model = await llama.loadModel({ modelPath: path });
  const context = await model.createContext({ contextSize, threads: 1, ...EXACT });
  const sequence = context.getSequence();
  const tokens = /** @type {import("node-llama-cpp").Token[]} */ (/** @type {unknown} */ (ids));
  const options = { temperature: 1, topK: 0, topP: 1, minP: 0 };
  const found = await sequence.controlledEvaluate(
    tokens.map((token, index) =>
      positions.includes(index) ? [token, { generateNext: { probabilities: true, options } }] : token,
    ),
  );
  const probabilities = positions.map((index) => found[index]?.next.probabilities ?? new Map());
  await sequence.clearHistory();
  const greedy = [];
  for await (const token of sequence.evaluate(tokens, { temperature: 0 })) {
    greedy.push(Number(token));
    if (greedy.length === 12) break;
  }
  await llama.dispose();
  return { probabilities, greedy };
}
