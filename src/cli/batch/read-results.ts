import { Readable } from "node:stream";
import { finished } from "node:stream/promises";
import { parse } from "csv-parse";
import { decodeUtf8 } from "../../text/utf8.ts";
import { readPieces } from "../read-input.ts";
import { splitLines } from "./lines.ts";
import { INDEX_FROM_END, KEY_FROM_END, type OutputFormat } from "./result-line.ts";

/** A whole result in an output file. */
export interface Written {
  readonly index: number;
  readonly key: string;
  readonly offset: number;
  readonly length: number;
}

/** What an output file holds. */
export interface Found {
  readonly results: readonly Written[];
  /** Where the whole ones end: what is behind was not written to its end. */
  readonly end: number;
}

/** How results begin: what is left of one can be told from anything else. */
const BEGINNING = '{"index":';
const LINE_FEED = 10;
const KEY = /^[0-9a-f]{16}$/;

/**
 * The results in an output file.
 *
 * @param head what it must begin with, in whole or, where there is no more, in part
 * @returns undefined where it holds anything else
 */
export async function readResults(
  path: string,
  format: OutputFormat,
  head: string,
): Promise<Found | undefined> {
  return format === "csv" ? readCsv(path, head) : readLines(path);
}

async function readLines(path: string): Promise<Found | undefined> {
  const results: Written[] = [];
  let end = 0;
  for await (const { bytes, offset, length, ended } of splitLines(readPieces(path))) {
    if (bytes === undefined) return undefined;
    const text = decodeUtf8(bytes);
    if (!ended) {
      const begins = text.startsWith(BEGINNING) || BEGINNING.startsWith(text);
      return begins ? { results, end } : undefined;
    }
    const place = placeOf(text);
    if (place === undefined) return undefined;
    results.push({ ...place, offset, length });
    end = offset + length;
  }
  return { results, end };
}

function placeOf(text: string): Pick<Written, "index" | "key"> | undefined {
  try {
    const { index, key } = JSON.parse(text) as Partial<Written>;
    return isPlace(index, key) ? { index: index!, key: key! } : undefined;
  } catch {
    return undefined;
  }
}

function isPlace(index: unknown, key: unknown): boolean {
  return Number.isSafeInteger(index) && typeof key === "string" && KEY.test(key);
}

async function readCsv(path: string, head: string): Promise<Found | undefined> {
  const records: (Partial<Written> & { readonly offset: number; readonly length: number })[] = [];
  let end = 0;
  const parser = parse({
    info: true,
    relax_column_count: true,
    on_record: (parsed: unknown) => {
      const { record, info } = parsed as { record: string[]; info: { bytes: number } };
      const [index, key] = [Number(record.at(-INDEX_FROM_END)), record.at(-KEY_FROM_END)];
      const place = { offset: end, length: info.bytes - end };
      records.push(isPlace(index, key) ? { index, key: key!, ...place } : place);
      end = info.bytes;
      return null;
    },
  });
  const wanted = Buffer.from(head);
  let beginning = Buffer.alloc(0);
  let ended = true;
  async function* watched() {
    for await (const piece of readPieces(path)) {
      if (beginning.length < wanted.length) beginning = Buffer.concat([beginning, piece]);
      ended = piece.at(-1) === LINE_FEED;
      yield piece;
    }
  }
  parser.resume();
  try {
    await finished(Readable.from(watched()).pipe(parser));
    // What no line feed ends was cut off in its last field.
    if (!ended) end = records.pop()?.offset ?? 0;
  } catch {
    // Cut off within quotes: the parser gives only what is before.
  }
  const begun = beginning.subarray(0, wanted.length);
  if (!wanted.subarray(0, begun.length).equals(begun)) return undefined;
  if (begun.length < wanted.length) return { results: [], end: 0 };
  const results = records.slice(1).filter((record): record is Written => record.key !== undefined);
  return results.length === records.length - 1 ? { results, end } : undefined;
}
