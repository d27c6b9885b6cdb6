import { SluiceError } from "../../errors.ts";
import { MOST_BYTES, readPieces } from "../read-input.ts";

/** A line of a file. */
export interface Line {
  /** From 1. */
  readonly number: number;
  /** Where it begins in the file, and its bytes with what ends it. */
  readonly offset: number;
  readonly length: number;
  /** Without what ends it; undefined where it is longer than any prompt can be. */
  readonly bytes: Buffer | undefined;
  /** Whether a line feed ends it: only the last one may lack it. */
  readonly ended: boolean;
}

/** The pieces of a text file, without the mark that UTF-8 may begin with. @throws SluiceError `bad-input` for UTF-16 */
export async function* readTextPieces(path: string): AsyncGenerator<Buffer> {
  let first = true;
  for await (const piece of atLeast(3, readPieces(path))) {
    if (first) {
      const mark = piece.subarray(0, 2).toString("latin1");
      if (mark === "\xff\xfe" || mark === "\xfe\xff")
        throw new SluiceError("bad-input", `${path === "-" ? "stdin" : path} is in UTF-16`, {
          next: "Save it as UTF-8.",
        });
    }
    yield first && piece.subarray(0, 3).toString("latin1") === "\xef\xbb\xbf" ? piece.subarray(3) : piece;
    first = false;
  }
}

/** Lines of pieces that come one after the other. */
export async function* splitLines(pieces: AsyncIterable<Buffer>): AsyncGenerator<Line> {
  let kept: Buffer[] = [];
  let length = 0;
  let offset = 0;
  let number = 0;
  const take = (ended: boolean): Line => {
    const bytes = length > MOST_BYTES ? undefined : Buffer.concat(kept);
    const end = bytes && ended ? bytes.length - (bytes.at(-2) === CARRIAGE_RETURN ? 2 : 1) : undefined;
    const line = { number: ++number, offset, length, bytes: bytes?.subarray(0, end), ended };
    offset += length;
    kept = [];
    length = 0;
    return line;
  };
  const keep = (bytes: Buffer) => {
    length += bytes.length;
    if (length > MOST_BYTES) kept = [];
    else kept.push(bytes);
  };
  for await (const piece of pieces) {
    let from = 0;
    for (let at = piece.indexOf(LINE_FEED); at >= 0; at = piece.indexOf(LINE_FEED, from)) {
      keep(piece.subarray(from, at + 1));
      from = at + 1;
      yield take(true);
    }
    if (from < piece.length) keep(piece.subarray(from));
  }
  if (length > 0) yield take(false);
}

const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;

/** The same bytes, with so many of them in the first piece, where there are as many. */
async function* atLeast(bytes: number, pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let first: Buffer | undefined = Buffer.alloc(0);
  for await (const piece of pieces) {
    if (first === undefined) yield piece;
    else {
      first = Buffer.concat([first, piece]);
      if (first.length < bytes) continue;
      yield first;
      first = undefined;
    }
  }
  if (first !== undefined && first.length > 0) yield first;
}
