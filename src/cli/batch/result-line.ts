import { stringify } from "csv-stringify/sync";
import type { BatchAnswer } from "../../engine/batch/types.ts";
import type { SluiceError } from "../../errors.ts";
import { printableJson } from "../printable.ts";

export const OUTPUT_FORMATS = ["jsonl", "csv"] as const;
export type OutputFormat = (typeof OUTPUT_FORMATS)[number];

/** What became of one prompt, as it is written. Nothing in it depends on when and beside what it was computed. */
export interface ResultLine {
  readonly index: number;
  readonly id: string | number;
  readonly text?: string;
  /** As in OpenAI's interface: the model, or a text to stop at, ended it; or there was no more room. */
  readonly finish_reason?: "stop" | "length";
  readonly stop_text?: string;
  readonly usage?: {
    readonly prompt_tokens: number;
    readonly completion_tokens: number;
    readonly total_tokens: number;
  };
  readonly error?: { readonly code: string; readonly message: string; readonly next?: string };
  /** What the line has beside what sluice knows. */
  readonly fields?: Readonly<Record<string, unknown>>;
  /** Tells the prompt and everything else that the result follows from. */
  readonly key: string;
}

type Place = Pick<ResultLine, "index" | "id" | "key" | "fields">;

/** The fields of an answer that are written. */
export function answerLine(
  { key, fields, ...place }: Place,
  promptTokens: number,
  { text, stop, stopText, ids }: BatchAnswer,
): ResultLine {
  return {
    ...place,
    text,
    finish_reason: stop === "length" || stop === "context" ? "length" : "stop",
    ...(stopText !== undefined && { stop_text: stopText }),
    usage: {
      prompt_tokens: promptTokens,
      completion_tokens: ids.length,
      total_tokens: promptTokens + ids.length,
    },
    ...(fields && { fields }),
    key,
  };
}

/** The same of an item that has no answer. */
export function errorLine(
  { key, fields, ...place }: Place,
  { code, message, next }: SluiceError,
): ResultLine {
  return { ...place, error: { code, message, ...(next && { next }) }, ...(fields && { fields }), key };
}

/** Columns that CSV gets beside those of the input. */
const COLUMNS: readonly (readonly [name: string, cell: (line: ResultLine) => string | number | undefined])[] =
  [
    ["id", ({ id }) => id],
    ["index", ({ index }) => index],
    ["text", ({ text }) => text],
    ["finish_reason", ({ finish_reason }) => finish_reason],
    ["stop_text", ({ stop_text }) => stop_text],
    ["prompt_tokens", ({ usage }) => usage?.prompt_tokens],
    ["completion_tokens", ({ usage }) => usage?.completion_tokens],
    ["error", ({ error }) => error && (error.next ? `${error.message}. ${error.next}` : error.message)],
    ["key", ({ key }) => key],
  ];

/** How results become text: a line of JSON each, or CSV, whose records may span lines. */
export interface ResultWriter {
  /** What comes before them. */
  readonly head: string;
  write(line: ResultLine, cells: readonly string[] | undefined): string;
}

/** @param columns of the input, where that is CSV: they come first, as they are */
export function resultWriter(format: OutputFormat, columns: readonly string[] = []): ResultWriter {
  if (format === "jsonl") return { head: "", write: (line) => `${printableJson(line, 0)}\n` };
  const own = COLUMNS.filter(([name]) => !(name === "id" && columns.includes("id")));
  const names = own.map(([name]) => (columns.includes(name) ? `sluice_${name}` : name));
  return {
    head: stringify([[...columns, ...names]]),
    write: (line, cells = []) => {
      const padded = columns.map((_, at) => cells[at] ?? "");
      return stringify([[...padded, ...own.map(([, cell]) => cell(line))]]);
    },
  };
}

/** Where in a record of CSV, counted from its end, are `key` and `index`. */
export const KEY_FROM_END = 1;
export const INDEX_FROM_END = COLUMNS.length - 1;
