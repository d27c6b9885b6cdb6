import { SluiceError } from "../errors.ts";

type Json = Readonly<Record<string, unknown>>;

const CONTRACTION = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";
const gpt4 = (digits: string) =>
  `${CONTRACTION}|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|${digits}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+`;
const UPPER = "\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}";
const LOWER = "\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}";
const PREFIX = "[^\\r\\n\\p{L}\\p{N}]?";
const TEKKEN = `${PREFIX}[${UPPER}]*[${LOWER}]+|${PREFIX}[${UPPER}]+[${LOWER}]*|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+`;

/** What cuts text into words, step by step, and llama.cpp's names for it: with `ignore_merges`, and without. */
const FAMILIES: readonly { readonly steps: readonly string[]; readonly names: readonly [string, string] }[] =
  [
    { steps: [gpt4("\\p{N}{1,3}"), "bytes"], names: ["llama-bpe", "smaug-bpe"] },
    { steps: [gpt4("\\p{N}"), "bytes"], names: ["qwen2", "qwen2"] },
    { steps: [TEKKEN, "bytes"], names: ["tekken", "tekken"] },
    { steps: ["gpt-2"], names: ["gpt-2", "gpt-2"] },
    { steps: ["digits", "gpt-2"], names: ["starcoder", "starcoder"] },
  ];

/**
 * The name of a pre-tokenizer in GGUF, `tokenizer.ggml.pre`.
 *
 * @param path of the tokenizer, for errors
 * @throws SluiceError `unsupported` for one that is not known: none is guessed
 */
export function preTokenizerOf(path: string, tokenizer: Json, ignoreMerges: boolean): string {
  const steps = stepsOf(tokenizer["pre_tokenizer"]);
  const family = FAMILIES.find(({ steps: known }) => JSON.stringify(known) === JSON.stringify(steps));
  if (family) return family.names[ignoreMerges ? 0 : 1];
  throw new SluiceError("unsupported", `${path} cuts text into words in a way that sluice does not know`, {
    next: `Use a GGUF file of the model, or report this: pre_tokenizer ${JSON.stringify(steps).slice(0, 400)}`,
  });
}

function stepsOf(step: unknown): string[] {
  if (typeof step !== "object" || step === null) return [];
  const { type, pretokenizers, pattern, use_regex, individual_digits } = step as Json;
  if (type === "Sequence" && Array.isArray(pretokenizers)) return pretokenizers.flatMap(stepsOf);
  if (type === "ByteLevel") return [use_regex === false ? "bytes" : "gpt-2"];
  if (type === "Digits" && individual_digits === true) return ["digits"];
  const regex = (pattern as Json | undefined)?.["Regex"];
  return [type === "Split" && typeof regex === "string" ? regex : JSON.stringify(step)];
}
