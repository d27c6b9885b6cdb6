import {
  closeSync,
  fdatasyncSync,
  ftruncateSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { SluiceError } from "../../errors.ts";
import { ioError, isFull } from "../../store/io-error.ts";
import { acquireLock } from "../../store/lock.ts";
import { interruptSignal } from "../interrupt.ts";
import { endOfLinks } from "../output-target.ts";
import { printableLine } from "../printable.ts";
import { tell } from "../tell.ts";
import { readResults, type Written } from "./read-results.ts";
import type { OutputFormat } from "./result-line.ts";

const OTHER_FILE = "Give another file with -o, or --force to write it anew.";

/** What results are written to. */
export interface Output {
  /** Results that are there already, by index. */
  readonly done: ReadonlyMap<number, string>;
  /** Whether another run can go on with it. */
  readonly resumable: boolean;
  write(index: number, key: string, text: string): void | Promise<void>;
}

/**
 * A file of results that grows by whole ones, and goes on where it was left off. Nobody else writes it meanwhile.
 */
export class OutputFile implements Output {
  readonly done = new Map<number, string>();
  readonly resumable = true;
  readonly #path: string;
  readonly #headBytes: number;
  readonly #release: () => void;
  readonly #fd: number;
  readonly #written: Written[];
  #end: number;
  #open = true;

  private constructor(
    path: string,
    headBytes: number,
    fd: number,
    found: Written[],
    end: number,
    release: () => void,
  ) {
    this.#path = path;
    this.#headBytes = headBytes;
    this.#fd = fd;
    this.#written = found;
    this.#end = end;
    this.#release = release;
    for (const { index, key } of found) this.done.set(index, key);
  }

  /**
   * Open a file, made where there is none; what was not written to its end is cut off.
   *
   * @param head what results stand behind
   * @param force whether whatever is there is given up
   * @throws SluiceError `bad-input` where it holds anything but results, `io`, `no-space`, `locked`, `aborted`
   */
  static async open(
    name: string,
    {
      format,
      head,
      force,
    }: { readonly format: OutputFormat; readonly head: string; readonly force: boolean },
  ): Promise<OutputFile> {
    const path = endOfLinks(name);
    const release = await attempt(name, () => {
      // The lock would make a folder that is not there.
      statSync(dirname(path));
      return acquireLock(path, {
        signal: interruptSignal,
        doing: "writing",
        onWait: ({ pid }) => tell(`sluice: process ${pid} is writing ${printableLine(name)}: waiting for it`),
      });
    });
    try {
      const size = statSync(path, { throwIfNoEntry: false })?.size;
      const found = force || !size ? { results: [], end: 0 } : await readResults(path, format, head);
      const problem =
        found === undefined ? "it holds something else than results of batch" : doubled(found.results);
      if (found === undefined || problem !== undefined) throw refusal(name, problem!);
      return await attempt(name, () => {
        const fd = openSync(path, size === undefined ? "wx+" : "r+");
        ftruncateSync(fd, found.end);
        const file = new OutputFile(
          path,
          Buffer.byteLength(head),
          fd,
          [...found.results],
          found.end,
          release,
        );
        if (found.end === 0) file.#append(Buffer.from(head));
        return file;
      });
    } catch (error) {
      release();
      throw error;
    }
  }

  write(index: number, key: string, text: string): void {
    const bytes = Buffer.from(text);
    const offset = this.#end;
    this.#append(bytes);
    this.#written.push({ index, key, offset, length: bytes.length });
    this.done.set(index, key);
  }

  /** Put the results in the order of the input, all of them being there. The file is replaced as a whole. */
  sort(): void {
    const sorted = this.#written.toSorted((a, b) => a.index - b.index);
    if (sorted.every((result, at) => result === this.#written[at])) return;
    const temporary = `${this.#path}.${process.pid}.partial`;
    try {
      const to = openSync(temporary, "wx", statSync(this.#path).mode);
      try {
        for (const { offset, length } of [{ offset: 0, length: this.#headBytes }, ...sorted]) {
          const bytes = Buffer.alloc(length);
          readSync(this.#fd, bytes, 0, length, offset);
          writeFileSync(to, bytes);
        }
        fdatasyncSync(to);
      } finally {
        closeSync(to);
      }
      // Not every system replaces a file that is open.
      this.#closeFile();
      renameSync(temporary, this.#path);
    } catch (error) {
      rmSync(temporary, { force: true });
      throw ioError(error, "write", this.#path, adviceFor(error));
    }
  }

  close(): void {
    this.#closeFile();
    this.#release();
  }

  #closeFile(): void {
    if (this.#open) closeSync(this.#fd);
    this.#open = false;
  }

  /** All of it or nothing. */
  #append(bytes: Buffer): void {
    try {
      for (let done = 0; done < bytes.length; )
        done += writeSync(this.#fd, bytes, done, bytes.length - done, this.#end + done);
      this.#end += bytes.length;
    } catch (error) {
      ftruncateSync(this.#fd, this.#end);
      throw ioError(error, "write", this.#path, adviceFor(error));
    }
  }
}

/** That an output is of another run. */
export function refusal(name: string, problem: string): SluiceError {
  return new SluiceError("bad-input", `${name} is not written: ${problem}`, { next: OTHER_FILE });
}

function doubled(results: readonly Written[]): string | undefined {
  const seen = new Set<number>();
  for (const { index } of results) {
    if (seen.has(index)) return `it has two results of prompt ${index + 1}`;
    seen.add(index);
  }
  return undefined;
}

async function attempt<Result>(name: string, action: () => Result | Promise<Result>): Promise<Result> {
  try {
    return await action();
  } catch (error) {
    throw ioError(error, "write", name, adviceFor(error));
  }
}

function adviceFor(error: unknown): string {
  return isFull(error)
    ? "Free some space, then give the same command: it goes on with what is not done yet."
    : "Check the path given with -o.";
}
