import { readFileSync } from "node:fs";

/** Version of sluice, as in its package.json. */
export function version(): string {
  return JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")).version;
}
