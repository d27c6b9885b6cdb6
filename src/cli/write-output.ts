import { closeSync, constants, openSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { Socket } from "node:net";
import type { Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { throwIfAborted } from "../errors.ts";
import { errorCode, ioError, isSystemError } from "../store/io-error.ts";
import { interruptSignal } from "./interrupt.ts";
import { endOfLinks } from "./output-target.ts";

export type Write = (bytes: Uint8Array) => void | Promise<void>;
type Produce = (write: Write) => Promise<void>;

const POLL_MS = 100;

/**
 * Write what `produce` makes to stdout (`-`), into a pipe or a device that is there, or to a file that appears only
 * when it is whole. A link stays, and what it leads to is written.
 *
 * @param option that gave the path
 * @throws SluiceError `no-space` or `io`, `aborted`, whatever `produce` throws
 */
export async function writeOutput(path: string, produce: Produce, option = "--out"): Promise<void> {
  if (path === "-") return produce(streamWriter(process.stdout));
  try {
    const target = endOfLinks(path);
    const found = statSync(target, { throwIfNoEntry: false });
    if (found?.isFIFO()) await writePipe(target, produce);
    else if (found && !found.isFile()) await writeInto(target, produce);
    else await writeFile(target, produce);
  } catch (error) {
    const told = isSystemError(error) && errorCode(error) !== "EPIPE";
    throw told ? ioError(error, "write", path, `Check the path given with ${option}.`) : error;
  }
}

async function writeFile(path: string, produce: Produce): Promise<void> {
  const temporary = `${path}.${process.pid}.partial`;
  const remove = () => rmSync(temporary, { force: true });
  process.once("exit", remove);
  try {
    await writeInto(temporary, produce, "wx");
    renameSync(temporary, path);
  } catch (error) {
    remove();
    throw error;
  } finally {
    process.removeListener("exit", remove);
  }
}

async function writeInto(path: string, produce: Produce, flags = "w"): Promise<void> {
  const fd = openSync(path, flags);
  try {
    await produce((bytes) => writeFileSync(fd, bytes));
  } finally {
    closeSync(fd);
  }
}

/** Write into a named pipe, without holding up the process while nobody reads. */
async function writePipe(path: string, produce: Produce): Promise<void> {
  const pipe = new Socket({ fd: await openPipe(path), readable: false, writable: true });
  // Whoever waits for the write gets the error as well.
  pipe.on("error", () => {});
  const abort = () => pipe.destroy();
  interruptSignal.addEventListener("abort", abort);
  try {
    await produce(streamWriter(pipe));
    await new Promise<void>((resolve) => pipe.end(resolve));
  } catch (error) {
    throwIfAborted(interruptSignal);
    throw error;
  } finally {
    interruptSignal.removeEventListener("abort", abort);
    pipe.destroy();
  }
}

/** Open a named pipe as soon as somebody reads it: until then the system answers ENXIO (open(2), O_NONBLOCK). */
async function openPipe(path: string): Promise<number> {
  for (;;) {
    throwIfAborted(interruptSignal);
    try {
      return openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
    } catch (error) {
      if (errorCode(error) !== "ENXIO") throw error;
    }
    await sleep(POLL_MS);
  }
}

function streamWriter(stream: Writable): Write {
  return (bytes) =>
    new Promise((resolve, reject) => {
      stream.write(bytes, (error) => (error ? reject(error) : resolve()));
    });
}
