import { describe, expect, it } from "vitest";
import { printable, printableJson, printableLine } from "../../src/cli/printable.ts";

describe("printable", () => {
  it("shows control characters instead of sending them", () => {
    expect(printable("\x1b[31mred\x07 \x9b2J \r\0\x7f")).toBe(
      "\\u{1b}[31mred\\u{7} \\u{9b}2J \\u{d}\\u{0}\\u{7f}",
    );
    expect(printable("safe\u202egnp.exe\u2066")).toBe("safe\\u{202e}gnp.exe\\u{2066}");
  });

  it("leaves text alone: letters, emoji with joiners, line feeds and tabs", () => {
    const text = "Žluťoučký 日本 👩‍🚀 a\tb\nשלום";
    expect(printable(text)).toBe(text);
    expect(printableLine("a\tb\nc\x1b")).toBe("a\\tb\\nc\\u{1b}");
  });

  it("makes JSON that reads back as it was", () => {
    const value = { "a\x9b": "\x1b\x7f\n\u202e" };
    const json = printableJson(value);
    expect(JSON.parse(json)).toEqual(value);
    const numbers = { big: 2n ** 63n, small: 5n, nan: Number.NaN };
    expect(JSON.parse(printableJson(numbers))).toEqual({ big: "9223372036854775808", small: 5, nan: "NaN" });
    expect(json).toMatch(/^[\n -~]*$/);
  });
});
