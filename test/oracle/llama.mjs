// @ts-check
import { getLlama } from "node-llama-cpp";

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
  const context = await model.createContext({ contextSize: 512, threads: 2 });
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
