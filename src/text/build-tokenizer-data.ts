import { SluiceError } from "../errors.ts";
import { readNumbers, readStrings } from "../gguf/arrays.ts";
import type { Gguf, MetadataArray } from "../gguf/types.ts";
import { decodeByteLevel } from "./byte-level.ts";
import { type Merges, MergesBuilder } from "./merge-table.ts";
import { PRE_TOKENIZERS, preTokenizerName } from "./pre-tokenizers.ts";
import { endOfGeneration } from "./special-tokens.ts";
import { SymbolBuilder } from "./symbol-builder.ts";
import { buildIndex, findText, type Texts } from "./token-texts.ts";
import { isHidden, TOKEN_BYTE, TOKEN_NORMAL, TOKEN_USER_DEFINED } from "./token-types.ts";
import type { TokenizerData } from "./tokenizer-data.ts";

/** Bounds the memory that a hostile file can claim; the largest vocabularies have 262,144 tokens. */
const MAX_ITEMS = 1 << 22;
const MAX_TEXT_BYTES = 1 << 28;
const NO_MERGES: Merges = new MergesBuilder(0).finish();

/** What is behind the names of tokenizers that llama.cpp runs and sluice does not. */
const OTHER_TOKENIZERS: Readonly<Record<string, string>> = {
  bert: "WordPiece, of BERT and other encoders",
  t5: "SentencePiece unigrams, of T5 and other encoders",
  gemma4: "BPE without a byte-level alphabet, of Gemma 4",
  rwkv: "the trie of RWKV",
  plamo2: "the table of PLaMo 2",
};

/**
 * Read the tokenizer and the chat templates of a GGUF file (metadata `tokenizer.*`).
 *
 * Errors: `unsupported` for a tokenizer model or pre-tokenizer that is not known, `bad-model` for tables that are
 * missing or make no sense.
 */
export function buildTokenizerData(gguf: Gguf): TokenizerData {
  const model = text(gguf, "tokenizer.ggml.model");
  if (model !== "gpt2" && model !== "llama") {
    throw new SluiceError(
      "unsupported",
      model === undefined
        ? `${gguf.path} has no tokenizer (no tokenizer.ggml.model)`
        : `tokenizer "${model}"${kindOf(model)} is not supported`,
      { next: "Supported are byte-level BPE (gpt2) and SentencePiece (llama); another model is needed." },
    );
  }
  const bpe = model === "gpt2";
  const preTokenizer = bpe ? preTokenizerName(text(gguf, "tokenizer.ggml.pre")) : undefined;
  const stored = readTexts(gguf, "tokens");
  const size = stored.offsets.length - 1;
  if (size === 0) throw broken(gguf, "has an empty vocabulary");
  const types = readTypes(gguf, size);
  const { index: all, duplicate } = buildIndex(stored, size, () => true);
  if (duplicate !== undefined) throw broken(gguf, `has the text of token ${duplicate} twice`);

  const find = (name: string): number => {
    const bytes = Buffer.from(name);
    return findText(stored, all, bytes, 0, bytes.length);
  };
  const named = (key: string): number | undefined => tokenId(gguf, key, size);
  const ends = endOfGeneration({ types, find, named });
  // SentencePiece's customary ids, which llama.cpp takes where the file names none.
  const usual = (id: number): number | undefined => (!bpe && id < size ? id : undefined);
  const bos = named("bos_token_id") ?? usual(1);
  const eos = named("eos_token_id") ?? usual(2);
  const addBos = flag(gguf, "add_bos_token") ?? (preTokenizer ? PRE_TOKENIZERS[preTokenizer].addBos : true);
  if (eos !== undefined && !ends.includes(eos)) ends.push(eos);
  return {
    model: bpe ? "bpe" : "spm",
    preTokenizer,
    ...(bpe ? bpeTables(gguf, stored, types) : spmTables(gguf, stored, types, find)),
    types,
    bos,
    eos,
    addBos: addBos && bos !== undefined,
    addEos: (flag(gguf, "add_eos_token") ?? false) && eos !== undefined,
    addSpacePrefix: flag(gguf, "add_space_prefix") ?? !bpe,
    endOfGeneration: ends.sort((a, b) => a - b),
    swallowSpace: swallowers(gguf, types, find),
    chatTemplates: chatTemplates(gguf),
  };
}

function kindOf(model: string): string {
  if (model === "none" || model === "no_vocab") return " (no vocabulary at all)";
  return Object.hasOwn(OTHER_TOKENIZERS, model) ? ` (${OTHER_TOKENIZERS[model]})` : "";
}

type Tables = Pick<TokenizerData, "texts" | "index" | "byteSymbols" | "merges" | "ranks">;

function bpeTables(gguf: Gguf, stored: Texts, types: Uint8Array): Tables {
  const symbols = new SymbolBuilder(stored, types);
  const merges = stringArray(gguf, "merges");
  if (merges === undefined) throw broken(gguf, "has no merges (tokenizer.ggml.merges)");
  const rules = new MergesBuilder(merges.length);
  const scratch = new Uint8Array(0x10000);
  for (const rule of readStrings(gguf, merges)) {
    // The first part may itself be a space, hence from 1.
    const space = rule.indexOf(0x20, 1);
    if (space < 0 || rule.length > scratch.length) continue;
    const left = decodeByteLevel(rule, 0, space, scratch);
    const right = decodeByteLevel(rule, space + 1, rule.length, scratch.subarray(Math.max(0, left)));
    // Text is made of that alphabet only, so a rule with other characters never applies.
    if (left <= 0 || right <= 0) continue;
    rules.add(
      symbols.symbol(scratch, 0, left),
      symbols.symbol(scratch, left, left + right),
      symbols.symbol(scratch, 0, left + right),
    );
  }
  const byteSymbols = Int32Array.from({ length: 256 }, (_, byte) => {
    return symbols.symbol(Uint8Array.of(byte), 0, 1);
  });
  return { ...symbols.finish(), byteSymbols, merges: rules.finish(), ranks: new Int32Array(0) };
}

function spmTables(gguf: Gguf, texts: Texts, types: Uint8Array, find: (text: string) => number): Tables {
  const { index } = buildIndex(texts, types.length, (id) => !isHidden(types[id]) && types[id] !== TOKEN_BYTE);
  const byteSymbols = Int32Array.from({ length: 256 }, (_, byte) => {
    const id = find(`<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`);
    return id >= 0 ? id : findText(texts, index, Uint8Array.of(byte), 0, 1);
  });
  return { texts, index, byteSymbols, merges: NO_MERGES, ranks: scoreRanks(gguf, types.length) };
}

/** Place of each token's score among the different scores, highest first; all equal where there are no scores. */
function scoreRanks(gguf: Gguf, size: number): Int32Array {
  const scores = numbers(gguf, "scores", size);
  if (scores === undefined) return new Int32Array(size);
  const distinct = Float64Array.from(new Set(scores)).sort().reverse();
  const place = new Map(Array.from(distinct, (score, rank) => [score, rank]));
  return Int32Array.from({ length: size }, (_, id) => place.get(scores[id])!);
}

function readTypes(gguf: Gguf, size: number): Uint8Array {
  const types = numbers(gguf, "token_type", size);
  if (types === undefined) return new Uint8Array(size).fill(TOKEN_NORMAL);
  return Uint8Array.from(types.subarray(0, size), (type) => (type >= 1 && type <= TOKEN_BYTE ? type : 0));
}

/** Phi-3's special tokens swallow white space; the file does not say so, llama.cpp goes by the model's name. */
function swallowers(gguf: Gguf, types: Uint8Array, find: (text: string) => number): number[] {
  if (!/phi-?3/i.test(text(gguf, "general.name") ?? "")) return [];
  const exempt = ["<unk>", "<s>", "<|endoftext|>"].map(find);
  const special = (id: number): boolean => {
    return isHidden(types[id]) || types[id] === TOKEN_USER_DEFINED || id === find("</s>");
  };
  return Array.from(types.keys()).filter((id) => special(id) && !exempt.includes(id));
}

/** `tokenizer.chat_template` is the default; `tokenizer.chat_template.tool_use` and such have other purposes. */
function chatTemplates(gguf: Gguf): Record<string, string> {
  const templates: Record<string, string> = Object.create(null);
  for (const [key, value] of gguf.metadata) {
    const name = /^tokenizer\.chat_template(?:\.(.+))?$/.exec(key);
    if (name && value.type === "string") templates[name[1] ?? "default"] = value.value;
  }
  return templates;
}

function readTexts(gguf: Gguf, name: string): Texts {
  const array = stringArray(gguf, name);
  if (array === undefined) throw broken(gguf, `has no tokenizer.ggml.${name}`);
  const blob = new Uint8Array(Math.max(0, array.bytes - 8 * array.length));
  const offsets = new Uint32Array(array.length + 1);
  let id = 0;
  for (const bytes of readStrings(gguf, array)) {
    blob.set(bytes, offsets[id]);
    offsets[id + 1] = offsets[id] + bytes.length;
    id++;
  }
  return { blob, offsets };
}

function stringArray(gguf: Gguf, name: string): MetadataArray | undefined {
  const value = gguf.metadata.get(`tokenizer.ggml.${name}`);
  if (value === undefined) return undefined;
  if (value.type !== "array" || value.items !== "string") {
    throw broken(gguf, `has a tokenizer.ggml.${name} that is no array of strings`);
  }
  if (value.length > MAX_ITEMS || value.bytes > MAX_TEXT_BYTES) {
    throw broken(gguf, `has an absurd tokenizer.ggml.${name}: ${value.length} items, ${value.bytes} bytes`);
  }
  return value;
}

function numbers(gguf: Gguf, name: string, size: number): Int32Array | Float32Array | undefined {
  const value = gguf.metadata.get(`tokenizer.ggml.${name}`);
  if (value === undefined) return undefined;
  if (value.type !== "array") throw broken(gguf, `has a tokenizer.ggml.${name} that is no array`);
  if (value.length < size) {
    throw broken(gguf, `has ${value.length} of tokenizer.ggml.${name} for ${size} tokens`);
  }
  const items = readNumbers(gguf, value);
  if (items instanceof Int32Array || items instanceof Float32Array) return items;
  throw broken(gguf, `has a tokenizer.ggml.${name} of ${value.items}; it should be int32 or float32`);
}

/** An id that the file names, where there is such a token: files with absurd ids are not rare. */
function tokenId(gguf: Gguf, key: string, size: number): number | undefined {
  const value = gguf.metadata.get(`tokenizer.ggml.${key}`);
  if (value === undefined || (value.type !== "uint32" && value.type !== "int32")) return undefined;
  return value.value >= 0 && value.value < size ? value.value : undefined;
}

function flag(gguf: Gguf, key: string): boolean | undefined {
  const value = gguf.metadata.get(`tokenizer.ggml.${key}`);
  return value?.type === "bool" ? value.value : undefined;
}

function text(gguf: Gguf, key: string): string | undefined {
  const value = gguf.metadata.get(key);
  return value?.type === "string" ? value.value : undefined;
}

function broken(gguf: Gguf, problem: string): SluiceError {
  return new SluiceError("bad-model", `${gguf.path} ${problem}`, {
    next: "The file is damaged or was converted wrongly; get it again.",
  });
}
