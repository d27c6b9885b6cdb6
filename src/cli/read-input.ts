import { closeSync, constants, createReadStream, fstatSync, openSync } from "node:fs";
import { Socket } from "node:net";
import { addAbortSignal, type Readable } from "node:stream";
import { isatty, ReadStream } from "node:tty";
import { SluiceError, throwIfAborted } from "../errors.ts";
import { formatBytes } from "../format-bytes.ts";
import { reasonOf } from "../store/io-error.ts";
import { decodeUtf8 } from "../text/utf8.ts";
import { interruptSignal } from "./interrupt.ts";

/** Far more than any model can read at once, and little enough to hold: devices and pipes may never end. */
export const MOST_BYTES = 32_000_000;

const TOO_LONG = "Give less text at once: no context of a model holds as much.";

/**
 * All bytes of a file, or of stdin where the path is `-`. Errors as those of `readFile`.
 *
 * @param advice where it is too long
 */
export async function readInput(path: string, advice = TOO_LONG): Promise<Buffer> {
  return path === "-" ? readWhole(process.stdin, "stdin", advice) : readFile(path, advice);
}

/**
 * The text of a file, or of stdin where the path is `-`: UTF-8, whose mark at the beginning is left out.
 *
 * @throws SluiceError `bad-input` for what is no text, otherwise as `readInput`
 */
export async function readText(path: string, advice?: string): Promise<string> {
  const bytes = await readInput(path, advice);
  const wide = bytes.subarray(0, 2).toString("latin1");
  const name = path === "-" ? "stdin" : path;
  if (wide === "\xff\xfe" || wide === "\xfe\xff")
    throw new SluiceError("bad-input", `${name} is in UTF-16`, { next: "Save it as UTF-8." });
  const zero = bytes.indexOf(0);
  if (zero >= 0)
    throw new SluiceError("bad-input", `${name} is no text: byte ${zero + 1} is zero`, {
      next: "Give a file of text, in UTF-8.",
    });
  return decodeUtf8(bytes).replace(/^\ufeff/, "");
}

/**
 * All bytes of a file, a pipe or a device.
 *
 * @throws SluiceError `io` where it cannot be read, `bad-input` where it is too long, `aborted`
 */
export async function readFile(path: string, advice = TOO_LONG): Promise<Buffer> {
  let stream: Readable;
  try {
    stream = openStream(path);
  } catch (error) {
    throw unreadable(path, error);
  }
  return readWhole(stream, path, advice);
}

/**
 * The bytes of a file, or of stdin where the path is `-`, as they come.
 *
 * @throws SluiceError `io` where it cannot be read, `aborted`
 */
export async function* readPieces(path: string): AsyncGenerator<Buffer> {
  try {
    yield* addAbortSignal(interruptSignal, path === "-" ? process.stdin : openStream(path));
  } catch (error) {
    throwIfAborted(interruptSignal);
    throw unreadable(path === "-" ? "stdin" : path, error);
  }
}

/** A stream that never holds up the process: pipes and terminals may be silent for as long as they like. */
function openStream(path: string): Readable {
  // Without waiting for somebody to open the other end of a pipe. Windows has no such flag, and no such pipes.
  const fd = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    if (isatty(fd)) return new ReadStream(fd);
    if (fstatSync(fd).isFIFO()) return new Socket({ fd, readable: true, writable: false });
    return createReadStream(path, { fd });
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

async function readWhole(stream: Readable, name: string, advice: string): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of addAbortSignal(interruptSignal, stream)) {
      bytes += chunk.length;
      if (bytes > MOST_BYTES) throw tooLong(name, advice);
      chunks.push(chunk);
    }
  } catch (error) {
    throwIfAborted(interruptSignal);
    throw error instanceof SluiceError ? error : unreadable(name, error);
  }
  return Buffer.concat(chunks, bytes);
}

function unreadable(name: string, cause: unknown): SluiceError {
  return new SluiceError("io", `cannot read ${name}: ${reasonOf(cause)}`, { next: "Check the path.", cause });
}

function tooLong(name: string, next: string): SluiceError {
  return new SluiceError("bad-input", `${name} is longer than ${formatBytes(MOST_BYTES)}`, { next });
}
