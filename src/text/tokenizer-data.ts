import { Packr } from "msgpackr";
import { SluiceError } from "../errors.ts";
import type { Merges } from "./merge-table.ts";
import { PRE_TOKENIZERS, type PreTokenizerName } from "./pre-tokenizers.ts";
import type { Texts } from "./token-texts.ts";

/** Everything about text that a model file holds, laid out so that loading it is a read and no parsing. */
export interface TokenizerData {
  /** Byte-level BPE, or SentencePiece's bigrams by score. */
  readonly model: "bpe" | "spm";
  /** How BPE cuts text into words. */
  readonly preTokenizer: PreTokenizerName | undefined;
  /**
   * Bytes of the tokens by id (BPE: decoded from the byte-level alphabet; SentencePiece: as in the file), then, for
   * BPE, of symbols that only occur on the way to a token.
   */
  readonly texts: Texts;
  /** Type of each token (see token-types.ts): its length is the size of the vocabulary. */
  readonly types: Uint8Array;
  /** Hash table of the tokens that plain text can become: see `findText`. */
  readonly index: Int32Array;
  /** BPE: the symbol of each byte. SentencePiece: the token that stands in for it, or -1. */
  readonly byteSymbols: Int32Array;
  /** BPE only (else empty). */
  readonly merges: Merges;
  /** SentencePiece only (else empty): place of each token's score among all scores, best first. */
  readonly ranks: Int32Array;
  readonly bos: number | undefined;
  readonly eos: number | undefined;
  readonly addBos: boolean;
  readonly addEos: boolean;
  /** SentencePiece: put a space before text that follows a special token or nothing. */
  readonly addSpacePrefix: boolean;
  /** Ids, ascending. */
  readonly endOfGeneration: readonly number[];
  /** Ids of special tokens that swallow the white space after them. */
  readonly swallowSpace: readonly number[];
  /** Jinja sources by name; the one for chatting is "default". */
  readonly chatTemplates: Readonly<Record<string, string>>;
}

const FORMAT = 1;
const packr = new Packr({ useRecords: false, variableMapSize: true });

/** The arrays in their order in the file: those of 32-bit numbers first, so that all of these are aligned. */
function arraysOf(data: TokenizerData): (Int32Array | Uint32Array | Uint8Array)[] {
  const { texts, index, byteSymbols, merges, ranks, types } = data;
  const { left, right, result, table } = merges;
  return [texts.offsets, index, byteSymbols, left, right, result, table, ranks, types, texts.blob];
}

/**
 * Bytes of `tokenizer.msgpack`: a map whose last value, `tables`, holds all arrays one after the other
 * (little-endian; `bytes` has their lengths), and begins at a multiple of four.
 */
export function encodeTokenizerData(data: TokenizerData): Uint8Array {
  const { texts: _, types: __, index: ___, byteSymbols: ____, merges: _____, ranks: ______, ...rest } = data;
  const arrays = arraysOf(data).map(
    (array) => new Uint8Array(array.buffer, array.byteOffset, array.byteLength),
  );
  const head = { format: FORMAT, ...rest, bytes: arrays.map((array) => array.length) };
  const tables = Buffer.concat(arrays);
  const start = packr.pack({ ...head, pad: "", tables }).length - tables.length;
  return packr.pack({ ...head, pad: " ".repeat(-start & 3), tables });
}

/**
 * The opposite of `encodeTokenizerData`; the arrays are views into `bytes` where these are aligned in memory.
 * Errors `bad-cache`: not such a file, another format version, or tables that do not fit together (so that nothing
 * read from it can point outside of its arrays).
 */
export function decodeTokenizerData(bytes: Uint8Array): TokenizerData {
  let fields: Record<string, unknown> | null;
  try {
    fields = packr.unpack(bytes);
  } catch (cause) {
    throw damaged("it is not MessagePack", cause);
  }
  if (fields?.["format"] !== FORMAT) {
    throw damaged(`its format is ${String(fields?.["format"])}, this version of sluice reads ${FORMAT}`);
  }
  const { format: _, bytes: lengths, pad: __, tables, ...rest } = fields;
  if (!(tables instanceof Uint8Array) || !Array.isArray(lengths)) throw damaged("it has no tables");
  const aligned = tables.byteOffset % 4 === 0 ? tables : new Uint8Array(tables);
  let at = aligned.byteOffset;
  const end = at + aligned.length;
  const [offsets, index, byteSymbols, left, right, result, table, ranks, types, blob] = lengths.map(
    (length) => {
      if (!Number.isInteger(length) || length < 0 || at + length > end) throw damaged("its tables are cut");
      at += length;
      return { at: at - length, length };
    },
  );
  if (blob === undefined) throw damaged("a table is missing");
  const ints = (part: { at: number; length: number }): Int32Array => {
    if (part.at % 4 !== 0 || part.length % 4 !== 0) throw damaged("its tables are not aligned");
    return new Int32Array(aligned.buffer, part.at, part.length / 4);
  };
  const bytesOf = (part: { at: number; length: number }): Uint8Array => {
    return new Uint8Array(aligned.buffer, part.at, part.length);
  };
  const data = {
    ...(rest as Omit<TokenizerData, "texts" | "types" | "index" | "byteSymbols" | "merges" | "ranks">),
    texts: { blob: bytesOf(blob), offsets: new Uint32Array(aligned.buffer, offsets.at, offsets.length / 4) },
    types: bytesOf(types),
    index: ints(index),
    byteSymbols: ints(byteSymbols),
    merges: { left: ints(left), right: ints(right), result: ints(result), table: ints(table) },
    ranks: ints(ranks),
  };
  check(data);
  return data;
}

/** Check that every table fits the others. */
function check(data: TokenizerData): void {
  const { texts, types, merges } = data;
  const symbols = texts.offsets.length - 1;
  if (data.model !== "bpe" && data.model !== "spm") throw damaged(`its model is ${String(data.model)}`);
  if (data.model === "bpe" && (data.preTokenizer === undefined || !(data.preTokenizer in PRE_TOKENIZERS))) {
    throw damaged(`its pre-tokenizer is ${String(data.preTokenizer)}`);
  }
  if (symbols < types.length || texts.offsets[symbols] !== texts.blob.length) throw damaged("texts are cut");
  for (let id = 0; id < symbols; id++) {
    if (texts.offsets[id] > texts.offsets[id + 1]) throw damaged(`text ${id} has a negative length`);
  }
  const rules = merges.left.length;
  if (merges.right.length !== rules || merges.result.length !== rules) throw damaged("merges are cut");
  if (data.byteSymbols.length !== 256) throw damaged("byte symbols are cut");
  if (data.model === "spm" && data.ranks.length !== types.length) throw damaged("ranks are cut");
  within("index", data.index, -1, types.length);
  within("mergeTable", merges.table, -1, rules);
  for (const [name, ids] of Object.entries({
    left: merges.left,
    right: merges.right,
    result: merges.result,
  })) {
    within(name, ids, 0, symbols);
  }
  within("byteSymbols", data.byteSymbols, data.model === "bpe" ? 0 : -1, symbols);
  within("ranks", data.ranks, 0, types.length);
  const specials = [data.bos ?? 0, data.eos ?? 0, ...data.endOfGeneration, ...data.swallowSpace];
  within("special ids", Int32Array.from(specials), 0, Math.max(1, types.length));
  for (const table of [data.index, merges.table]) {
    // Probing ends at an empty slot and wraps by a mask.
    if (!table.includes(-1) || (table.length & (table.length - 1)) !== 0)
      throw damaged("a hash table is full");
  }
}

function within(name: string, values: Int32Array, from: number, to: number): void {
  for (let i = 0; i < values.length; i++) {
    if (values[i] < from || values[i] >= to) throw damaged(`"${name}" has ${values[i]}`);
  }
}

function damaged(problem: string, cause?: unknown): SluiceError {
  return new SluiceError("bad-cache", `the unpacked tokenizer cannot be used: ${problem}`, {
    next: "Unpack the model again with `sluice unpack --force`.",
    cause,
  });
}
