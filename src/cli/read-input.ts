import { readFileSync } from "node:fs";
import { addAbortSignal } from "node:stream";
import { buffer } from "node:stream/consumers";
import { SluiceError, throwIfAborted } from "../errors.ts";
import { interruptSignal } from "./interrupt.ts";

/** All bytes of a file, or of stdin where the path is `-`. */
export async function readInput(path: string): Promise<Buffer> {
  if (path === "-") return readStdin();
  try {
    return readFileSync(path);
  } catch (cause) {
    throw new SluiceError("io", `cannot read ${path}: ${(cause as Error).message}`, {
      next: "Check the path.",
      cause,
    });
  }
}

async function readStdin(): Promise<Buffer> {
  try {
    return await buffer(addAbortSignal(interruptSignal, process.stdin));
  } catch (error) {
    throwIfAborted(interruptSignal);
    throw error;
  }
}
