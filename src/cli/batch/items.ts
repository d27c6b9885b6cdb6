import { isUtf8 } from "node:buffer";
import { extname } from "node:path";
import { Readable } from "node:stream";
import { parse } from "csv-parse";
import { SluiceError } from "../../errors.ts";
import { formatBytes } from "../../format-bytes.ts";
import { decodeUtf8 } from "../../text/utf8.ts";
import { MOST_BYTES } from "../read-input.ts";
import { readTextPieces, splitLines } from "./lines.ts";

export const INPUT_FORMATS = ["jsonl", "csv", "txt"] as const;
/** Nested more deeply than anything that makes sense; what walks through it would run out of stack much later. */
const MOST_DEPTH = 500;
export type InputFormat = (typeof INPUT_FORMATS)[number];

/** One prompt of the input, as it stands there. */
export interface Item {
  /** Prompts before it in the whole input. */
  readonly index: number;
  /** Where it begins, from 1. */
  readonly line: number;
  /** All that it says: another text is another item. */
  readonly raw: string | Buffer;
  /** What it is: of CSV an object of texts. */
  readonly content: { readonly value: unknown } | { readonly error: SluiceError };
  /** The fields of CSV. */
  readonly cells?: readonly string[];
}

/** The format that a file's ending tells. */
export function inputFormat(path: string): InputFormat {
  const ending = extname(path).toLowerCase();
  if (ending === ".csv") return "csv";
  return ending === ".txt" ? "txt" : "jsonl";
}

/**
 * The prompts of a file, or of stdin (`-`), as they come. Empty lines are none.
 *
 * @param onColumns gets the header of CSV, before anything else comes
 * @throws SluiceError `io`, `aborted`; `bad-input` for what is no text or no CSV
 */
export async function* readItems(
  path: string,
  format: InputFormat,
  onColumns: (columns: readonly string[]) => void = () => {},
): AsyncGenerator<Item> {
  if (format === "csv") return yield* readCsv(path, onColumns);
  let index = 0;
  for await (const { number: line, bytes } of splitLines(readTextPieces(path))) {
    if (bytes === undefined) {
      const error = new SluiceError("bad-input", `the line is longer than ${formatBytes(MOST_BYTES)}`);
      yield { index: index++, line, raw: "", content: { error } };
      continue;
    }
    const text = format === "txt" ? decodeUtf8(bytes) : textOf(bytes);
    if (text === undefined) {
      const error = new SluiceError("bad-input", "the line is no text: it is not UTF-8");
      yield { index: index++, line, raw: bytes, content: { error } };
      continue;
    }
    if (text.trim() === "") continue;
    yield { index: index++, line, raw: bytes, content: format === "txt" ? plain(text) : parsed(text) };
  }
}

function plain(text: string): Item["content"] {
  const zero = text.indexOf("\0");
  if (zero < 0) return { value: text };
  return { error: new SluiceError("bad-input", `the line is no text: character ${zero + 1} is zero`) };
}

/** Undefined where it is not UTF-8. */
function textOf(bytes: Uint8Array): string | undefined {
  return isUtf8(bytes) ? decodeUtf8(bytes) : undefined;
}

/** How deeply a JSON text is nested, at its deepest. */
function depthOf(text: string): number {
  let [depth, most, inText] = [0, 0, false];
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (inText && character === "\\") at++;
    else if (character === '"') inText = !inText;
    else if (inText) continue;
    else if (character === "{" || character === "[") most = Math.max(most, ++depth);
    else if (character === "}" || character === "]") depth--;
  }
  return most;
}

function parsed(text: string): Item["content"] {
  const depth = depthOf(text);
  if (depth > MOST_DEPTH)
    return { error: new SluiceError("bad-input", `the line is nested ${depth} deep, ${MOST_DEPTH} at most`) };
  try {
    return { value: JSON.parse(text) };
  } catch (cause) {
    const message = `the line is not JSON: ${(cause as Error).message}`;
    return { error: new SluiceError("bad-input", message, { cause }) };
  }
}

async function* readCsv(path: string, onColumns: (columns: readonly string[]) => void): AsyncGenerator<Item> {
  const name = path === "-" ? "stdin" : path;
  const parser = Readable.from(readTextPieces(path)).compose(
    parse({ info: true, relax_column_count: true, skip_empty_lines: true, max_record_size: MOST_BYTES }),
  );
  let columns: readonly string[] | undefined;
  let index = 0;
  let lines = 0;
  try {
    for await (const { record: cells, info } of parser as AsyncIterable<CsvRecord>) {
      const line = lines + 1;
      lines = info.lines;
      if (columns === undefined) {
        columns = cells;
        checkColumns(columns, name);
        onColumns(columns);
        continue;
      }
      yield { index: index++, line, raw: JSON.stringify(cells), content: named(columns, cells), cells };
    }
  } catch (error) {
    if (error instanceof SluiceError) throw error;
    throw new SluiceError("bad-input", `${name} is no sound CSV: ${(error as Error).message}`, {
      next: "A field that holds quotes is put in quotes, and these are doubled.",
      cause: error,
    });
  }
}

interface CsvRecord {
  readonly record: readonly string[];
  readonly info: { readonly lines: number };
}

function checkColumns(columns: readonly string[], name: string): void {
  const next = "The first line of CSV names the columns; one of them is called prompt, or messages.";
  if (!columns.includes("prompt") && !columns.includes("messages"))
    throw new SluiceError("bad-input", `${name} has no column prompt, only ${columns.join(", ")}`, { next });
  const twice = columns.find((column, at) => columns.indexOf(column) !== at);
  if (twice !== undefined)
    throw new SluiceError("bad-input", `${name} has two columns ${twice}`, { next: "Rename one of them." });
}

function named(columns: readonly string[], cells: readonly string[]): Item["content"] {
  if (cells.length !== columns.length)
    return {
      error: new SluiceError(
        "bad-input",
        `the line has ${cells.length} fields, the first one ${columns.length}`,
      ),
    };
  return { value: Object.fromEntries(columns.map((column, at) => [column, cells[at]])) };
}
