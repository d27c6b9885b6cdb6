import { SluiceError } from "../errors.ts";
import * as patterns from "./word-patterns.ts";
import { matches, type Splitter, thousands } from "./word-splitter.ts";

/** How a byte-level BPE tokenizer cuts text into words before merging, with what llama.cpp ties to its name. */
export interface PreTokenizer {
  /** Applied one after the other. */
  readonly steps: readonly Splitter[];
  /** A word that is in the vocabulary is one token, whatever the merges say. */
  readonly ignoreMerges: boolean;
  /** Whether a BOS is added where the file does not say. */
  readonly addBos: boolean;
  /** Other values of `tokenizer.ggml.pre` that llama.cpp treats alike (its `llama-vocab.cpp`). */
  readonly aliases: readonly string[];
}

type Flags = Partial<Pick<PreTokenizer, "ignoreMerges" | "addBos">>;

function pre(
  steps: readonly (string | Splitter)[],
  aliases: readonly string[] = [],
  flags: Flags = {},
): PreTokenizer {
  const splitters = steps.map((step) => (typeof step === "string" ? matches(step) : step));
  return { steps: splitters, aliases, ignoreMerges: false, addBos: false, ...flags };
}

const { DIGIT, THREE_DIGITS, GPT2, HAN_OR_KANA, DEEPSEEK3 } = patterns;
const LLAMA3 = patterns.gpt4(THREE_DIGITS);
const QWEN2 = patterns.gpt4(DIGIT);

const FAMILIES = {
  "llama-bpe": pre([LLAMA3], ["llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2"], {
    ignoreMerges: true,
    addBos: true,
  }),
  "smaug-bpe": pre([LLAMA3], ["dbrx", "glm4", "chatglm-bpe"]),
  "gpt-2": pre(
    [GPT2],
    [
      ...["phi-2", "gigachat", "a.x-4.0", "mellum", "exaone4"],
      ...["mpt", "olmo", "jais", "trillion", "granite-docling"],
    ],
  ),
  qwen2: pre(
    [QWEN2],
    ["deepseek-r1-qwen", "kormo", "megrez", "f2llmv2", "stablelm2", "hunyuan", "solar-open", "grok-2"],
  ),
  qwen35: pre([patterns.QWEN35]),
  starcoder: pre(
    [DIGIT, GPT2],
    ["refact", "command-r", "smollm", "codeshell", "exaone", "minerva-7b", "mellum2"],
  ),
  falcon: pre([patterns.FALCON_PUNCTUATION, GPT2, patterns.THREE_ASCII_DIGITS]),
  "deepseek-llm": pre([
    patterns.LINE_BREAK,
    patterns.DEEPSEEK_LETTERS,
    patterns.DEEPSEEK_PUNCTUATION,
    patterns.TRAILING_SPACES,
    patterns.CJK,
    "\\p{N}+",
  ]),
  "deepseek-coder": pre([
    patterns.LINE_BREAK,
    patterns.SPACED_LETTERS,
    patterns.SPACED_PUNCTUATION,
    patterns.CJK,
    DIGIT,
  ]),
  "deepseek-v3": pre([THREE_DIGITS, HAN_OR_KANA, DEEPSEEK3], ["hunyuan-dense", "hy_v4", "joyai-llm"]),
  tekken: pre([patterns.TEKKEN], [], { ignoreMerges: true, addBos: true }),
  "gpt-4o": pre([patterns.GPT4O], ["llama4", "kanana2", "talkie", "minimax-m2"]),
  bloom: pre([patterns.BLOOM], ["poro-chat", "gpt3-finnish"]),
  viking: pre([patterns.BLOOM, DIGIT]),
  chameleon: pre(
    [
      patterns.CHAMELEON_SENTINEL,
      patterns.CHAMELEON_IMAGE,
      patterns.CHAMELEON_SPACES,
      DIGIT,
      patterns.CHAMELEON_PUNCTUATION,
      GPT2,
    ],
    [],
    { addBos: true },
  ),
  "jais-2": pre([patterns.JAIS2]),
  bailingmoe: pre([patterns.BAILING], ["bailingmoe2", "llada-moe"]),
  "seed-coder": pre([patterns.SEED]),
  "exaone-moe": pre([patterns.EXAONE_MOE]),
  "kimi-k2": pre([patterns.KIMI]),
  youtu: pre([patterns.YOUTU_SCRIPTS, patterns.YOUTU_WORDS], [], { ignoreMerges: true }),
  afmoe: pre([thousands, patterns.AFMOE_SCRIPTS, DEEPSEEK3]),
  laguna: pre([patterns.LINE_OR_BREAKS, QWEN2]),
  minicpm5: pre([THREE_DIGITS, patterns.gpt4("\\p{N}+")], [], { ignoreMerges: true }),
  spark2_5: pre([THREE_DIGITS, HAN_OR_KANA, patterns.SPARK, DIGIT]),
  ufakzeka: pre([patterns.UFAKZEKA]),
};

export type PreTokenizerName = keyof typeof FAMILIES;

export const PRE_TOKENIZERS: Readonly<Record<PreTokenizerName, PreTokenizer>> = FAMILIES;

/**
 * The pre-tokenizer that a file names. None is guessed: words that are cut differently from what the model was
 * trained on give worse answers without any sign of it.
 *
 * @param name value of `tokenizer.ggml.pre`; llama.cpp goes on with a rough default where it is absent.
 */
export function preTokenizerName(name: string | undefined): PreTokenizerName {
  if (name === undefined || name === "" || name === "default") {
    throw new SluiceError(
      "unsupported",
      "the model file does not say how its tokenizer cuts words (no tokenizer.ggml.pre)",
      {
        next: "It was made by an old converter: get a newer GGUF file of the same model, or convert it again.",
      },
    );
  }
  const names = Object.keys(PRE_TOKENIZERS) as PreTokenizerName[];
  const found = names.find((candidate) => {
    return candidate === name || PRE_TOKENIZERS[candidate].aliases.includes(name);
  });
  if (found !== undefined) return found;
  throw new SluiceError("unsupported", `pre-tokenizer "${name}" is not supported`, {
    next: `Supported are ${supportedNames().join(", ")}. If llama.cpp runs this model, report the name "${name}" and the model.`,
  });
}

/** Every value of `tokenizer.ggml.pre` that is known. */
export function supportedNames(): string[] {
  return Object.entries(PRE_TOKENIZERS).flatMap(([name, { aliases }]) => [name, ...aliases]);
}
