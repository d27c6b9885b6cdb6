import { describe, expect, it } from "vitest";
import { formatTable, layerTable, timingBlock } from "../../src/timing/table.ts";
import { decode, prefill } from "./sweeps.ts";

describe("formatTable", () => {
  it("aligns the first column left and the others right, without trailing spaces", () => {
    const rows = [["a", "bb"], ["long", "1", "x"], ["c"]];
    expect(formatTable(rows)).toEqual(["a     bb", "long   1  x", "c"]);
    expect(formatTable([])).toEqual([]);
  });
});

describe("timingBlock", () => {
  it("shows load, prefill and decode", () => {
    expect(timingBlock({ loadMs: 12.34, prefill, decode }).join("\n")).toMatchInlineSnapshot(`
      "         tokens    ms  ms/token  tokens/s
      load             12.3
      prefill       7  50.0      7.14    140.00
      decode        2  20.0     10.00    100.00"
    `);
  });
});

describe("layerTable", () => {
  it("shows an average sweep by layer, with embedding, output and total", () => {
    expect(layerTable(decode).join("\n")).toMatchInlineSnapshot(`
      "layer         MB  read ms  wait ms  compute ms  MB/s
      embedding  0.001     0.25     0.25        0.02     4
      0          2.000     2.00     1.00        2.00  1000
      1          2.000     1.00     0.50        1.50  2000
      output     1.000     1.00     0.50        1.50  1000
      total      5.001     4.25     2.25        5.02  1177"
    `);
  });

  it("has nothing to show without sweeps", () => {
    expect(layerTable([])).toEqual([]);
  });
});

it("shows what part of the speed of disk and memory each layer reached", () => {
  const reachable = { disk: 2e9, arithmetic: 10e9, weights: [10e6, 4e6, 3e6] };
  const [head, embedding, first, second, output, total] = layerTable(decode, reachable);
  expect(head.endsWith("MB/s  of disk  of memory")).toBe(true);
  const ends = [embedding, first, second, output, total].map((line) => line.trim().split(/ {2,}/).slice(-2));
  // Reads: 4 MB in 4 ms, 4 MB in 2 ms, 2 MB in 2 ms. Arithmetic: 20 MB in 4 ms, 8 MB in 3 ms, 6 MB in 3 ms.
  expect(ends).toEqual([
    ["0 %", "-"],
    ["50 %", "50 %"],
    ["100 %", "27 %"],
    ["50 %", "20 %"],
    ["59 %", "34 %"],
  ]);
  const inMemory = layerTable(decode, { ...reachable, disk: undefined });
  expect(inMemory[2].trim().split(/ {2,}/).slice(-2)).toEqual(["-", "50 %"]);
});
