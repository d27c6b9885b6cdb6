import { TOKEN_CONTROL, TOKEN_NORMAL, TOKEN_USER_DEFINED } from "./token-types.ts";

// GGUF has no list of the tokens that end an answer and files name only one or two of them, so llama.cpp
// (`llama-vocab.cpp`) also goes by their texts. These are the texts it knows.

const END_OF_GENERATION = [
  "<|eot_id|>",
  "<|im_end|>",
  "<|end|>",
  "<|return|>",
  "<|call|>",
  "<|flush|>",
  "<|calls|>",
  "<end_of_turn>",
  "<|endoftext|>",
  "<|eom_id|>",
  "<EOT>",
  "_<EOT>",
  "[EOT]",
  "[EOS]",
  "<|end_of_text|>",
  "<end_of_utterance>",
  "<eos>",
  "<turn|>",
  "<|tool_response>",
  "<｜end▁of▁sentence｜>",
  "[e~[",
];

/** Fill-in-the-middle tokens that end an answer too, by the metadata key that overrules the texts. */
const FILL_IN_END: Readonly<Record<string, readonly string[]>> = {
  fim_pad_token_id: ["<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>", "[PAD]"],
  fim_rep_token_id: ["<|fim_repo|>", "<|repo_name|>", "<fim-repo>", "<REPO>", "<reponame>"],
  fim_sep_token_id: ["<|file_sep|>"],
};

/** Control tokens by their looks, which some files mark as normal. */
const FILL_IN_CONTROL = [
  ...["<|fim_prefix|>", "<fim-prefix>", "<fim_prefix>", "<｜fim▁begin｜>", "<PRE>", "▁<PRE>"],
  ...["<|fim_suffix|>", "<fim-suffix>", "<fim_suffix>", "<｜fim▁hole｜>", "<SUF>", "▁<SUF>"],
  ...["<|fim_middle|>", "<fim-middle>", "<fim_middle>", "<｜fim▁end｜>", "<MID>", "▁<MID>"],
  ...["<|code_prefix|>", "<|code_suffix|>", "<|code_middle|>"],
  ...["<|prefix|>", "<|suffix|>", "<|middle|>"],
];

/** Tokens of the gpt-oss format that are part of the visible text. */
const ALWAYS_VISIBLE = ["<|channel|>", "<|message|>", "<|start|>", "<|constrain|>"];

export interface SpecialTokenSource {
  /** Token type by id; corrected in place where a token's text says more than its type. */
  readonly types: Uint8Array;
  /** Id of a token by its text in the file, or -1. */
  find(text: string): number;
  /** Id that metadata key `tokenizer.ggml.<key>` names, where it is one of a token. */
  named(key: string): number | undefined;
}

/** Ids of the tokens that end an answer, in ascending order, as llama.cpp determines them. */
export function endOfGeneration(source: SpecialTokenSource): number[] {
  const ends = new Set<number>();
  const markControl = (id: number): void => {
    if (source.types[id] === TOKEN_NORMAL || source.types[id] === TOKEN_USER_DEFINED) {
      source.types[id] = TOKEN_CONTROL;
    }
  };
  const existing = (texts: readonly string[]): number[] => {
    return texts.map((text) => source.find(text)).filter((id) => id >= 0);
  };

  for (const [key, texts] of Object.entries(FILL_IN_END)) {
    const named = source.named(key);
    const ids = named === undefined ? existing(texts).slice(0, 1) : [named];
    for (const id of ids) ends.add(id);
    if (named === undefined) ids.forEach(markControl);
  }
  existing(FILL_IN_CONTROL).forEach(markControl);
  for (const id of existing(END_OF_GENERATION)) {
    ends.add(id);
    markControl(id);
  }
  // Qwen's vocabulary has </s> as a piece of HTML; llama.cpp would end the answer there.
  for (const id of existing(["</s>"])) if (source.types[id] !== TOKEN_NORMAL) ends.add(id);
  for (const id of existing(ALWAYS_VISIBLE)) source.types[id] = TOKEN_USER_DEFINED;
  for (const key of ["eos_token_id", "eot_token_id", "eom_token_id"]) {
    const id = source.named(key);
    if (id !== undefined) ends.add(id);
  }

  const endsWith = (text: string): boolean => ends.has(source.find(text));
  const drop = (text: string, type: number): void => {
    const id = source.find(text);
    if (!ends.delete(id)) return;
    source.types[id] = type;
  };
  // gpt-oss and Solar end a part of an answer, not the answer, with <|end|>.
  const calls = endsWith("<|call|>") || endsWith("<|calls|>");
  if (calls && (endsWith("<|return|>") || endsWith("<|flush|>"))) drop("<|end|>", TOKEN_USER_DEFINED);
  if (endsWith("<|tool_response>")) drop("</s>", TOKEN_NORMAL);
  return [...ends].sort((a, b) => a - b);
}
