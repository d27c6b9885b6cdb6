import { describe, expect, it } from "vitest";
import { Lookup } from "../../../src/engine/draft/lookup.ts";

describe("lookup", () => {
  const guess = (text: readonly number[], most = 4, lookup = new Lookup()) => {
    const by = lookup.look(text);
    return by === undefined ? undefined : { by, ids: lookup.propose(most) };
  };

  it("guesses what followed where the text was like this before", () => {
    expect(guess([1, 2, 3, 4, 5, 6, 1, 2])).toEqual({ by: "2", ids: [3, 4, 5, 6] });
    expect(guess([1, 2, 3, 4, 5, 6, 1, 2], 2)).toEqual({ by: "2", ids: [3, 4] });
  });

  it("has no idea of what was not there before, nor by one token alone", () => {
    expect(guess([1, 2, 3, 4, 5])).toBeUndefined();
    expect(guess([1, 2, 3, 9, 3])).toBeUndefined();
    expect(guess([7])).toBeUndefined();
    expect(guess([])).toBeUndefined();
  });

  it("takes the longest repetition, and of these the latest", () => {
    expect(guess([1, 2, 3, 7, 9, 2, 3, 8, 0, 1, 2, 3], 1)).toEqual({ by: "3", ids: [7] });
    expect(guess([2, 3, 7, 9, 2, 3, 8, 0, 2, 3], 1)).toEqual({ by: "2", ids: [8] });
  });

  it("goes on with what it has guessed, where the repetition reaches the end", () => {
    expect(guess([5, 1, 2, 1, 2], 6)?.ids).toEqual([1, 2, 1, 2, 1, 2]);
    expect(guess([7, 7, 7], 5)?.ids).toEqual([7, 7, 7, 7, 7]);
  });

  it("follows a text that grows, is cut back, or is another one", () => {
    const lookup = new Lookup();
    const text = [1, 2, 3, 4];
    expect(guess(text, 2, lookup)).toBeUndefined();
    expect(guess([...text, 1, 2], 2, lookup)?.ids).toEqual([3, 4]);
    expect(guess([1, 2, 9, 9, 1, 2], 2, lookup)?.ids).toEqual([9, 9]);
    expect(guess([4, 4], 2, lookup)).toBeUndefined();
  });

  it("costs next to nothing in a long text", () => {
    const lookup = new Lookup();
    const text = Array.from({ length: 32768 }, (_, index) => (index * 7919) % 50);
    lookup.look(text);
    const start = performance.now();
    for (let token = 0; token < 100; token++) {
      text.push(token % 50);
      if (lookup.look(text) !== undefined) lookup.propose(16);
    }
    // A generous bound: a sweep takes longer than all of them.
    expect((performance.now() - start) / 100).toBeLessThan(10);
  });
});
