import { beforeEach, expect, it } from "vitest";
import { LiveLine } from "../../src/cli/live-line.ts";

let clock = 0;
let written: string[] = [];
const stream = { isTTY: true, columns: 20, write: (text: string) => written.push(text) };
const create = (active = true) => new LiveLine(stream, { active, colour: false, now: () => clock });

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

it("goes below the text, in the longest form that fits", () => {
  const line = create();
  line.printed(10);
  clock += 500;
  line.show(() => ["a status of 20 chars", "short"]);
  expect(written).toEqual(["\x1bD\x1b[A\x1b7\r\nshort\x1b8"]);
});

it("keeps away from a line that is full to its last column", () => {
  const line = create();
  line.printed(20);
  clock += 500;
  line.show(() => ["short"]);
  expect(written).toEqual([]);
});

it("comes back at once behind text that comes slowly, and not behind text that comes fast", () => {
  const line = create();
  clock += 500;
  line.show(() => ["status"]);
  line.clear();
  written = [];
  line.printed(4);
  expect(written).toEqual(["\x1bD\x1b[A\x1b7\r\nstatus\x1b8"]);
  clock += 20;
  line.clear();
  written = [];
  line.printed(8);
  expect(written).toEqual([]);
});

it("is dim where there are colours", () => {
  const line = new LiveLine(stream, { active: true, colour: true, now: () => clock });
  clock += 500;
  line.show(() => ["status"]);
  expect(written).toEqual(["\x1b7\x1b[2mstatus\x1b[22m\x1b8"]);
});

it("waits again after text", () => {
  const line = create();
  clock += 500;
  line.printed(4);
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
