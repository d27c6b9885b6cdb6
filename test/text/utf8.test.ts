import { describe, expect, test } from "vitest";
import { alignUtf8, decodeUtf8, Utf8Stream } from "../../src/text/utf8.ts";

const MIXED = "aé€😀\ufeff\u0000ß한👩‍👩‍👧";

describe("Utf8Stream", () => {
  test("gives the same text however the bytes are split", () => {
    const bytes = Buffer.from(MIXED);
    for (let first = 0; first <= bytes.length; first++) {
      for (let second = first; second <= bytes.length; second++) {
        const stream = new Utf8Stream();
        const parts = [bytes.subarray(0, first), bytes.subarray(first, second), bytes.subarray(second)];
        const texts = parts.map((part) => stream.push(part));
        expect(texts.join("") + stream.end()).toBe(MIXED);
        for (const text of texts) expect(text).not.toContain("\ufffd");
      }
    }
  });

  test("holds back only what can still become a character", () => {
    const stream = new Utf8Stream();
    expect(stream.push(Uint8Array.of(0xf0, 0x9f))).toBe("");
    expect(stream.push(Uint8Array.of(0x61))).toBe("\ufffda");
    expect(stream.push(Uint8Array.of(0xe2, 0x82))).toBe("");
    expect(stream.end()).toBe("\ufffd");
    expect(stream.push(Uint8Array.of(0x62))).toBe("b");
  });
});

test("text and bytes agree in length, valid or not", () => {
  let seed = 7;
  for (let round = 0; round < 500; round++) {
    const bytes = Uint8Array.from({ length: 24 }, () => {
      seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff;
      return seed >> 16;
    });
    const aligned = alignUtf8(bytes);
    expect(Buffer.byteLength(aligned.text)).toBe(aligned.bytes.length);
  }
  expect(alignUtf8(Buffer.from(MIXED)).text).toBe(MIXED);
  expect(decodeUtf8(Buffer.from(MIXED))).toBe(MIXED);
});
