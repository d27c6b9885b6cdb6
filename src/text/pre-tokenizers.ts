import { SluiceError } from "../errors.ts";

export type PreTokenizerName = "llama-bpe" | "smaug-bpe" | "gpt-2" | "qwen2";

/** How a byte-level BPE tokenizer cuts text into words before merging, with what llama.cpp ties to its name. */
export interface PreTokenizer {
  /** Matches word after word; every character belongs to one. */
  readonly words: RegExp;
  /** A word that is in the vocabulary is one token, whatever the merges say. */
  readonly ignoreMerges: boolean;
  /** Whether a BOS is added where the file does not say. */
  readonly addBos: boolean;
  /** Other values of `tokenizer.ggml.pre` that llama.cpp treats alike (its `llama-vocab.cpp`). */
  readonly aliases: readonly string[];
}

// White_Space of Unicode, which `\s` means in these patterns. JavaScript's `\s` lacks U+0085 and has U+FEFF.
const S = "\\t-\\r \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
const CONTRACTION = "'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD]";

// Of a run of white space, the last one goes to the word after it.
const SPACES = `[${S}]+(?![^${S}])|[${S}]+`;

/** The pattern of GPT-4 and its heirs, which differ in how many digits make a word. */
function gpt4Words(digits: string): RegExp {
  const word = "[^\\r\\n\\p{L}\\p{N}]?\\p{L}+";
  const symbols = ` ?[^${S}\\p{L}\\p{N}]+[\\r\\n]*`;
  const lines = `[${S}]*[\\r\\n]+`;
  return new RegExp(`${CONTRACTION}|${word}|${digits}|${symbols}|${lines}|${SPACES}`, "gu");
}

const GPT2_WORDS = new RegExp(
  `'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^${S}\\p{L}\\p{N}]+|${SPACES}`,
  "gu",
);
const LLAMA3_WORDS = gpt4Words("\\p{N}{1,3}");

export const PRE_TOKENIZERS: Readonly<Record<PreTokenizerName, PreTokenizer>> = {
  "llama-bpe": {
    words: LLAMA3_WORDS,
    ignoreMerges: true,
    addBos: true,
    aliases: ["llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2"],
  },
  "smaug-bpe": { words: LLAMA3_WORDS, ignoreMerges: false, addBos: false, aliases: [] },
  "gpt-2": {
    words: GPT2_WORDS,
    ignoreMerges: false,
    addBos: false,
    aliases: ["phi-2", "gigachat", "a.x-4.0", "mellum", "exaone4"],
  },
  qwen2: {
    words: gpt4Words("\\p{N}"),
    ignoreMerges: false,
    addBos: false,
    aliases: ["deepseek-r1-qwen", "kormo", "megrez"],
  },
};

/**
 * The pre-tokenizer that a file names. None is guessed: words that are cut differently from what the model was
 * trained on give worse answers without any sign of it.
 *
 * @param name value of `tokenizer.ggml.pre`; llama.cpp goes on with a rough default where it is absent.
 */
export function preTokenizerName(name: string | undefined): PreTokenizerName {
  const names = Object.keys(PRE_TOKENIZERS) as PreTokenizerName[];
  if (name === undefined || name === "" || name === "default") {
    throw new SluiceError(
      "unsupported",
      "the model file does not say how its tokenizer cuts words (no tokenizer.ggml.pre)",
      {
        next: "It was made by an old converter: get a newer GGUF file of the same model, or convert it again.",
      },
    );
  }
  const found = names.find((candidate) => {
    return candidate === name || PRE_TOKENIZERS[candidate].aliases.includes(name);
  });
  if (found !== undefined) return found;
  throw new SluiceError("unsupported", `pre-tokenizer "${name}" is not supported`, {
    next: `Supported are ${names.join(", ")} and SentencePiece tokenizers (tokenizer.ggml.model = llama).`,
  });
}
