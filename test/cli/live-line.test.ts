import { beforeEach, expect, it } from "vitest";
import { LiveLine } from "../../src/cli/live-line.ts";

let clock = 0;
let written: string[] = [];
const stream = { isTTY: true, columns: 20, write: (text: string) => written.push(text) };
const create = (active = true) => new LiveLine(stream, { active, now: () => clock });

beforeEach(() => {
  clock = 1000;
  written = [];
});

it("shows a status only after a silence, and ten times a second at most", () => {
  const line = create();
  line.show(() => ["early"]);
  expect(written).toEqual([]);
  clock += 300;
  line.show(() => ["one"]);
  clock += 99;
  line.show(() => ["two"]);
  clock += 1;
  line.show(() => ["three"]);
  expect(written).toEqual(["\x1b7one\x1b8", "\x1b[J", "\x1b7three\x1b8"]);
});

it("is erased once, and only when there is something", () => {
  const line = create();
  line.clear();
  clock += 500;
  line.show(() => ["status"]);
  line.clear();
  line.clear();
  expect(written).toEqual(["\x1b7status\x1b8", "\x1b[J"]);
});

it("goes behind the text, in the longest form that fits", () => {
  const line = create();
  line.printed("0123456789");
  clock += 500;
  line.show(() => ["a long status", "short"]);
  expect(written).toEqual(["\x1b7  short\x1b8"]);
  line.clear();
  line.printed("012345678");
  written = [];
  clock += 500;
  line.show(() => ["short", "s"]);
  expect(written).toEqual([]);
});

it("waits again after text", () => {
  const line = create();
  clock += 500;
  line.printed("text");
  clock += 299;
  line.show(() => ["status"]);
  expect(written).toEqual([]);
});

it("does nothing where the stream is no lively terminal", () => {
  const line = create(false);
  clock += 500;
  line.show(() => ["status"]);
  line.clear();
  expect(written).toEqual([]);
});
