import { expect, test } from "vitest";
import { formatBytes } from "../src/format-bytes.ts";

test.each([
  [0, "0 B"],
  [999, "999 B"],
  [1000, "1.00 kB"],
  [9_995, "10.0 kB"],
  [999_499, "999 kB"],
  [999_500, "1.00 MB"],
  [3_273_433_408, "3.27 GB"],
  [12_300_000_000, "12.3 GB"],
  [5e15, "5000 TB"],
])("%i bytes", (bytes, text) => {
  expect(formatBytes(bytes)).toBe(text);
});
