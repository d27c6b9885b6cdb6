// @ts-check
// A conversation to be saved, with a KV cache of made-up bytes.

const BLOCK_BYTES = 3000;
export const BLOCK_POSITIONS = 4;

/** Noise that follows from a number: what no compression helps with. */
function noise(/** @type {number} */ seed, /** @type {number} */ length) {
  let state = seed * 2654435761 + 1;
  return Uint8Array.from({ length }, () => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return state >>> 24;
  });
}

/**
 * A conversation after so many turns of five tokens each, and its blocks: full ones never change.
 *
 * @param {number} turns
 * @returns {{ content: import("../../src/session-store/types.ts").SessionContent,
 *   blocks: import("../../src/session-store/types.ts").SavedBlock[] }}
 */
export function conversation(turns, { text = "", blockBytes = BLOCK_BYTES } = {}) {
  const ids = Array.from({ length: 5 * turns }, (_, i) => i * 7919);
  const blocks = Array.from({ length: Math.ceil(ids.length / BLOCK_POSITIONS) }, (_, index) => {
    const full = (index + 1) * BLOCK_POSITIONS <= ids.length;
    const stamp = full ? index : 1000 * turns + index;
    const bytes = noise(stamp, blockBytes);
    if (!full) bytes.fill(0, blockBytes / 2);
    return { stamp, bytes };
  });
  const messages = Array.from({ length: turns }, (_, i) => [
    { role: "user", content: `Question ${i} 👋🏽 ${text}` },
    { role: "assistant", content: `Answer ${i}\nof two lines` },
  ]).flat();
  return {
    content: {
      created: "2026-01-02T03:04:05.000Z",
      changed: new Date(Date.UTC(2026, 0, 2, 4, turns)).toISOString(),
      model: {
        name: "Tiny",
        architecture: "llama",
        source: "tiny.gguf",
        fingerprint: "0123456789abcdef",
        dtype: "q8",
        cacheFormat: 2,
        kv: { type: "f16", format: 1, blockPositions: BLOCK_POSITIONS, blockBytes },
      },
      messages,
      settings: { sampling: { temperature: 0.5 }, date: "2026-01-02T00:00:00.000Z" },
      ids,
    },
    blocks,
  };
}
