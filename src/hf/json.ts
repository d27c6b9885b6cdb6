import { readFileSync, statSync } from "node:fs";
import { SluiceError } from "../errors.ts";
import { ioError } from "../store/io-error.ts";

/** The largest tokenizer.json have some 35 MB. */
const MAX_BYTES = 256e6;

/**
 * The object in a JSON file.
 *
 * @throws SluiceError `io`, `bad-model` for what is no JSON object or far too large
 */
export function readJson(path: string): Readonly<Record<string, unknown>> {
  let text: string;
  try {
    const { size } = statSync(path);
    if (size > MAX_BYTES) throw broken(path, `has ${size} bytes, too many for what it should be`);
    text = readFileSync(path, "utf8");
  } catch (error) {
    throw ioError(error, "read", path, "Check the folder of the model.");
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw broken(path, `is no JSON: ${(error as Error).message}`);
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>;
  throw broken(path, "is no JSON object");
}

function broken(path: string, problem: string): SluiceError {
  return new SluiceError("bad-model", `${path} ${problem}`, { next: "Download the model again." });
}
