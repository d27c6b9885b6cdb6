/**
 * tokenizer.json and its neighbours as metadata `tokenizer.*` of GGUF (llama.cpp, convert_hf_to_gguf.py): byte-level BPE as
 * `gpt2`, and BPE with bytes to fall back on, which converters made of SentencePiece, as `llama`.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { SluiceError } from "../errors.ts";
import type { MetadataValue } from "../gguf/types.ts";
import {
  TOKEN_BYTE,
  TOKEN_CONTROL,
  TOKEN_NORMAL,
  TOKEN_UNKNOWN,
  TOKEN_UNUSED,
  TOKEN_USER_DEFINED,
} from "../text/token-types.ts";
import type { Blob } from "./blob.ts";
import { readJson } from "./json.ts";
import { preTokenizerOf } from "./pre-tokenizer.ts";

type Json = Readonly<Record<string, unknown>>;
type Entries = [key: string, value: MetadataValue][];

const FILE = "tokenizer.json";

/**
 * @param config of the model: ids of BOS and EOS
 * @param size tokens that the embedding has rows for; the vocabulary is filled up to it
 * @throws SluiceError `unsupported` for a tokenizer that is not known, `bad-model`
 */
export function convertTokenizer(folder: string, config: Json, size: number, blob: Blob): Entries {
  const path = join(folder, FILE);
  if (!existsSync(path)) return withoutVocabulary(size, blob);
  const tokenizer = readJson(path);
  const settings = existsSync(join(folder, "tokenizer_config.json"))
    ? readJson(join(folder, "tokenizer_config.json"))
    : {};
  const generation = existsSync(join(folder, "generation_config.json"))
    ? readJson(join(folder, "generation_config.json"))
    : {};
  const model = objectOf(tokenizer["model"]);
  if (model["type"] !== "BPE" && model["type"] !== undefined)
    throw unsupported(path, `is of type ${JSON.stringify(model["type"])}`);
  const vocabulary = readVocabulary(path, tokenizer, model, size);
  const merges = readMerges(path, model["merges"]);
  const fallsBack = model["byte_fallback"] === true;
  const entries: Entries = fallsBack
    ? [
        ["tokenizer.ggml.model", text("llama")],
        ["tokenizer.ggml.scores", blob.numbers(scoresOf(vocabulary, merges))],
        ["tokenizer.ggml.add_space_prefix", flag(addsSpace(tokenizer))],
      ]
    : [
        ["tokenizer.ggml.model", text("gpt2")],
        ["tokenizer.ggml.pre", text(preTokenizerOf(path, tokenizer, model["ignore_merges"] === true))],
        ["tokenizer.ggml.merges", blob.strings(merges.map(([left, right]) => `${left} ${right}`))],
      ];
  const { texts, types } = vocabulary;
  entries.push(
    ["tokenizer.ggml.tokens", blob.strings(texts)],
    ["tokenizer.ggml.token_type", blob.numbers(types)],
    ...specialTokens(vocabulary, config, settings, generation),
    ["tokenizer.ggml.add_bos_token", flag(addsBos(tokenizer, settings))],
    ["tokenizer.ggml.add_eos_token", flag(settings["add_eos_token"] === true)],
    ...templates(folder, settings),
  );
  return entries;
}

/** Of a folder with weights alone: ids can be computed with, and no text becomes any. */
function withoutVocabulary(size: number, blob: Blob): Entries {
  return [
    ["tokenizer.ggml.model", text("llama")],
    ["tokenizer.ggml.tokens", blob.strings(Array.from({ length: size }, (_, id) => `[${id}]`))],
    ["tokenizer.ggml.token_type", blob.numbers(new Int32Array(size).fill(TOKEN_CONTROL))],
  ];
}

interface Vocabulary {
  readonly texts: string[];
  readonly types: Int32Array;
  readonly ids: ReadonlyMap<string, number>;
}

function readVocabulary(path: string, tokenizer: Json, model: Json, size: number): Vocabulary {
  const texts: string[] = new Array(size);
  const types = new Int32Array(size).fill(TOKEN_UNUSED);
  const ids = new Map<string, number>();
  const add = (content: unknown, id: unknown, type: number) => {
    if (typeof content !== "string" || !Number.isSafeInteger(id) || (id as number) < 0)
      throw broken(path, `has a token ${JSON.stringify(content)} with the id ${JSON.stringify(id)}`);
    // Some list tokens that the model has no row for.
    if ((id as number) >= size) return;
    texts[id as number] = content;
    types[id as number] = type;
    ids.set(content, id as number);
  };
  for (const [content, id] of Object.entries(objectOf(model["vocab"]))) {
    const isByte = model["byte_fallback"] === true && /^<0x[0-9A-F]{2}>$/.test(content);
    add(content, id, content === model["unk_token"] ? TOKEN_UNKNOWN : isByte ? TOKEN_BYTE : TOKEN_NORMAL);
  }
  const added = tokenizer["added_tokens"];
  for (const token of Array.isArray(added) ? added : []) {
    const { content, id, special } = objectOf(token);
    const isUnknown = content === model["unk_token"] && ids.has(String(content));
    add(content, id, isUnknown ? TOKEN_UNKNOWN : special === true ? TOKEN_CONTROL : TOKEN_USER_DEFINED);
  }
  if (ids.size === 0) throw broken(path, "has an empty vocabulary");
  for (let id = 0; id < size; id++) texts[id] ??= `[PAD${id}]`;
  return { texts, types, ids };
}

/** Pairs; older files have each as one text with a space between. */
function readMerges(path: string, merges: unknown): [string, string][] {
  if (!Array.isArray(merges)) throw broken(path, "has no merges");
  return merges.map((merge) => {
    const pair = typeof merge === "string" ? merge.split(" ") : merge;
    if (Array.isArray(pair) && pair.length === 2 && pair.every((part) => typeof part === "string"))
      return pair as [string, string];
    throw broken(path, `has a merge ${JSON.stringify(merge)?.slice(0, 40)}`);
  });
}

/** SentencePiece merges what has the best score first: the rank of the first rule that makes a token is as good. */
function scoresOf({ ids, texts }: Vocabulary, merges: readonly [string, string][]): Float32Array {
  const scores = new Float32Array(texts.length);
  const ranked = new Set<number>();
  for (const [rank, [left, right]] of merges.entries()) {
    const id = ids.get(left + right);
    if (id === undefined || ranked.has(id)) continue;
    ranked.add(id);
    scores[id] = -rank - 1;
  }
  return scores;
}

/** Whether a space is put before a text, by the normalizer or by the pre-tokenizer. */
function addsSpace(tokenizer: Json): boolean {
  const steps = [objectOf(tokenizer["normalizer"]), objectOf(tokenizer["pre_tokenizer"])].flatMap((step) => [
    step,
    ...listOf(step["normalizers"] ?? step["pretokenizers"]),
  ]);
  return steps.some(
    ({ type, prepend_scheme: scheme }) =>
      type === "Prepend" || (type === "Metaspace" && (scheme === "first" || scheme === "always")),
  );
}

/** Ids that end an answer, as transformers' `generate` has them: of generation_config.json, else of config.json. */
function endsOf(generation: Json, config: Json): readonly number[] {
  const value = generation["eos_token_id"] ?? config["eos_token_id"];
  return (Array.isArray(value) ? value : [value]).filter((id) => Number.isSafeInteger(id) && id >= 0);
}

function specialTokens({ ids }: Vocabulary, config: Json, settings: Json, generation: Json): Entries {
  const named = (key: string): number | undefined => {
    const token = settings[key];
    const content = typeof token === "string" ? token : objectOf(token)["content"];
    return typeof content === "string" ? ids.get(content) : undefined;
  };
  const first = (key: string): number | undefined => {
    const value = config[key];
    const id: unknown = Array.isArray(value) ? value[0] : value;
    return Number.isSafeInteger(id) ? (id as number) : undefined;
  };
  const eos = named("eos_token") ?? first("eos_token_id");
  // GGUF has room for three ids that end an answer.
  const ends = endsOf(generation, config).filter((id) => id !== eos);
  const found: [string, number | undefined][] = [
    ["eot", ends[0]],
    ["eom", ends[1]],
    ["bos", named("bos_token") ?? first("bos_token_id")],
    ["eos", eos],
    ["unknown", named("unk_token")],
    ["padding", named("pad_token")],
  ];
  return found.flatMap(([name, value]): Entries => {
    return value === undefined ? [] : [[`tokenizer.ggml.${name}_token_id`, { type: "uint32", value }]];
  });
}

/** As the settings say; otherwise as the post-processor does, whose template begins with a special token. */
function addsBos(tokenizer: Json, settings: Json): boolean {
  if (typeof settings["add_bos_token"] === "boolean") return settings["add_bos_token"];
  const processor = objectOf(tokenizer["post_processor"]);
  const steps = [processor, ...listOf(processor["processors"])];
  return steps.some(
    ({ type, single }) => type === "TemplateProcessing" && "SpecialToken" in objectOf(listOf(single)[0]),
  );
}

function templates(folder: string, settings: Json): Entries {
  const jinja = join(folder, "chat_template.jinja");
  if (existsSync(jinja)) return [["tokenizer.chat_template", text(readFileSync(jinja, "utf8"))]];
  const template = settings["chat_template"];
  if (typeof template === "string") return [["tokenizer.chat_template", text(template)]];
  return listOf(template).flatMap(({ name, template }): Entries => {
    if (typeof name !== "string" || typeof template !== "string") return [];
    return [
      [name === "default" ? "tokenizer.chat_template" : `tokenizer.chat_template.${name}`, text(template)],
    ];
  });
}

function text(value: string): MetadataValue {
  return { type: "string", value };
}

function flag(value: boolean): MetadataValue {
  return { type: "bool", value };
}

function objectOf(value: unknown): Json {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : {};
}

function listOf(value: unknown): Json[] {
  return Array.isArray(value) ? value.map(objectOf) : [];
}

function unsupported(path: string, problem: string): SluiceError {
  return new SluiceError("unsupported", `${path} ${problem}; sluice reads BPE`, {
    next: "Use a GGUF file of the model, if there is one.",
  });
}

function broken(path: string, problem: string): SluiceError {
  return new SluiceError("bad-model", `${path} ${problem}`, { next: "Download the model again." });
}
