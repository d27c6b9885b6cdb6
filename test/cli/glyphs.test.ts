import { describe, expect, it } from "vitest";
import { bar, glyphsFor, levelStrip, strip, stripNumbers } from "../../src/cli/glyphs.ts";

const unicode = glyphsFor({ LANG: "en_GB.UTF-8" }, "linux");
const ascii = glyphsFor({ LANG: "C" }, "linux");

it("draws in ASCII where the locale is not UTF-8", () => {
  expect(glyphsFor({ LC_ALL: "C", LANG: "C.UTF-8" }, "linux")).toBe(ascii);
  expect(glyphsFor({ LC_CTYPE: "de_DE.utf8", LANG: "C" }, "linux")).toBe(unicode);
  expect(glyphsFor({}, "linux")).toBe(ascii);
  expect(glyphsFor({}, "win32")).toBe(unicode);
  expect(ascii.text("naïve 日本 e\u0301 😀\n")).toBe("na?ve ?? e? ?\n");
});

it.each([
  [0, "····", "...."],
  [0.5, "██··", "##.."],
  [0.53125, "██▏·", "##.."],
  [0.6, "██▍·", "##-."],
  [1, "████", "####"],
  [1.5, "████", "####"],
])("fills %d of a bar", (share, inUnicode, inAscii) => {
  expect([bar(share, 4, unicode), bar(share, 4, ascii)]).toEqual([inUnicode, inAscii]);
});

describe("a strip", () => {
  it("has a cell for each stage, with gaps where there is room", () => {
    expect(strip(1.5, 3, 12, ascii)).toBe("### #=. ...");
    expect(strip(1.5, 3, 6, ascii)).toBe("###...");
    expect(strip(1.5, 3, 3, ascii)).toBe("#=.");
    expect(strip(3, 3, 12, ascii)).toBe("### ### ###");
  });

  it("shares columns where there are more stages than these", () => {
    expect(strip(2, 4, 7, ascii)).toBe("###=...");
    expect(strip(40, 80, 10, ascii)).toBe("#####.....");
    expect(levelStrip([...Array(40).fill(1), ...Array(40).fill(0)], 10, ascii)).toBe("#####     ");
  });

  it("shows shares by their height", () => {
    expect(levelStrip([0, 0.5, 1], 3, unicode)).toBe(" ▄█");
    expect(levelStrip([0.01, 1], 8, unicode)).toBe("▁▁▁ ███");
  });

  it("is numbered as far as there is room", () => {
    expect(stripNumbers(4, 16)).toBe("0   1   2   out");
    expect(stripNumbers(37, 74)).toMatch(/^0 {3}2 {3}4 .* 34 out$/);
    expect(stripNumbers(81, 20)).toBe("0    20   40   60");
    expect(stripNumbers(2, 2).length).toBeLessThanOrEqual(2);
  });
});
