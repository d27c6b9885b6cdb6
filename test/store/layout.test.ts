import { expect, test } from "vitest";
import {
  ALIGNMENT,
  CHUNK_BYTES,
  layoutChunks,
  panelGroup,
  tensorPanelBytes,
  tensorPanels,
} from "../../src/store/layout.ts";
import type { StoredTensor } from "../../src/store/types.ts";
import { matrix, vector } from "./fake-cache.ts";

/** A small generator of its own, so that a failure can be repeated (mulberry32). */
function random(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % below;
  };
}

function randomTensors(below: (n: number) => number): StoredTensor[] {
  return Array.from({ length: 1 + below(8) }, () => {
    if (below(3) === 0) return vector(1 + below(5000));
    const columns = 32 * (1 + below(below(10) === 0 ? 12000 : 100));
    const sources = below(3) === 0 ? ["a", "b"] : ["a"];
    return matrix(sources.length * (1 + below(500)), columns, {
      sources,
      dtype: below(2) === 0 ? "f32" : "q8",
    });
  });
}

test.each(Array.from({ length: 200 }, (_, seed) => seed))("chunks tile the tensors (seed %i)", (seed) => {
  const tensors = randomTensors(random(seed));
  const seen = tensors.map(() => 0);
  let last = 0;
  for (const chunk of layoutChunks(tensors)) {
    let used = 0;
    for (const part of chunk.parts) {
      const tensor = tensors[part.tensor];
      // Tensors come in order, their panels one after the other, and parts lie one behind the other, aligned.
      expect(part.tensor).toBeGreaterThanOrEqual(last);
      last = part.tensor;
      expect(part.firstPanel).toBe(seen[part.tensor]);
      // Gate and up of the same rows come together.
      expect(part.panels % panelGroup(tensor)).toBe(0);
      seen[part.tensor] += part.panels;
      expect(part.bytes).toBe(part.panels * tensorPanelBytes(tensor));
      expect(part.offset).toBe(used);
      used = Math.ceil((part.offset + part.bytes) / ALIGNMENT) * ALIGNMENT;
    }
    expect(chunk.bytes).toBe(used);
    const single =
      chunk.parts.length === 1 && chunk.parts[0].panels === panelGroup(tensors[chunk.parts[0].tensor]);
    if (!single) expect(chunk.bytes).toBeLessThanOrEqual(CHUNK_BYTES);
  }
  expect(seen).toEqual(tensors.map(tensorPanels));
});

test("a panel larger than a chunk is a chunk of its own", () => {
  const chunks = layoutChunks([matrix(8, 100_000)]);
  expect(chunks.map((chunk) => chunk.bytes)).toEqual([1_601_536, 1_601_536]);
});
