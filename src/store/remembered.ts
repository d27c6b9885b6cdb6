/** Measurements of a machine and its disk, remembered in the cache root: one JSON object in a file for each. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { writeFileAtomic } from "./atomic.ts";

/** What must be the same for a measurement to hold still. */
export type Circumstances = Readonly<Record<string, string | number | boolean>>;

/**
 * What was measured under the same circumstances, or undefined.
 *
 * @param isSound whether what was found is a whole measurement: anyone may edit the file
 */
export function recall<Value>(
  root: string,
  name: string,
  circumstances: Circumstances,
  isSound: (found: unknown) => found is Value,
): Value | undefined {
  try {
    const { measured, ...rest } = JSON.parse(readFileSync(join(root, name), "utf8"));
    const same = Object.entries(circumstances).every(([key, value]) => rest[key] === value);
    return same && isSound(measured) ? measured : undefined;
  } catch {
    // None, or none that can be read: it is measured again.
    return undefined;
  }
}

/** Keep a measurement, where the root is there and can be written to; otherwise the next process measures again. */
export function remember(root: string, name: string, circumstances: Circumstances, measured: object): void {
  const text = JSON.stringify({ ...circumstances, date: new Date().toISOString(), measured }, undefined, 2);
  try {
    writeFileAtomic(join(root, name), Buffer.from(`${text}\n`));
  } catch {
    // A measurement is a convenience: no reason to fail.
  }
}

/** Whether a value is a rate: a positive number. */
export function isRate(value: unknown): value is number {
  return typeof value === "number" && value > 0 && Number.isFinite(value);
}
