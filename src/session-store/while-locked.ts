import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { acquireLock } from "../store/lock.ts";

/**
 * Do something with the file of a conversation while no other process writes it; its folder is made where there is none.
 *
 * @throws SluiceError `locked` where a process on another machine has it; the operating system's error; what `action` throws
 */
export async function whileLocked<Result>(path: string, action: () => Promise<Result>): Promise<Result> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const release = await acquireLock(path, { doing: "saving" });
  try {
    return await action();
  } finally {
    release();
  }
}
