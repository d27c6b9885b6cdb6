// @ts-check
/**
 * A made-up byte-level BPE vocabulary of any size that tokenizers load and use like a real one: the 256 bytes, then
 * strings of two, three and four letters (the first may be a space), then control tokens. The merges agree with it:
 * both parts of each and what they make are tokens, and the parts come earlier. Like vocabularies converted from
 * tiktoken, a token has several merges that make it.
 */

/** Control tokens by their place after the text tokens, as in Llama 3 and SmolLM3; the places between are reserved. */
const CONTROL_TOKENS = new Map([
  [0, "<|begin_of_text|>"],
  [1, "<|end_of_text|>"],
  [11, "<|im_start|>"],
  [12, "<|im_end|>"],
]);
const END_OF_TEXT = 1;
const IM_END = 12;

const LETTERS = "abcdefghijklmnopqrstuvwxyz";
/** What GPT-2 writes for a space. */
const FIRST_LETTERS = `${LETTERS}Ġ`;

export const CHATML =
  "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}" +
  "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";

/** How many tokens of a vocabulary are text; the rest are control tokens, 256 of them as in SmolLM3 or 16 in a small one. */
const textTokenCount = (/** @type {number} */ size) => size - (size >= 8192 ? 256 : 16);

/** @param {number} size number of tokens, at least 272 */
export function* tokens(size) {
  const text = textTokenCount(size);
  yield* byteTokens();
  for (let index = 0; index < text - 256; index++) yield word(index);
  for (let place = 0; place < size - text; place++) {
    yield CONTROL_TOKENS.get(place) ?? `<|reserved_special_token_${place}|>`;
  }
}

/** Types of the tokens: 1 is text, 3 is control. @param {number} size */
export function* tokenTypes(size) {
  const text = textTokenCount(size);
  for (let id = 0; id < size; id++) yield id < text ? 1 : 3;
}

/** @param {number} size */
export function* merges(size) {
  for (let index = 0; index < textTokenCount(size) - 256; index++) {
    const letters = [...word(index)];
    // Four letters can be cut in three places; that every fourth has all makes 2.2 merges a token, as in Llama 3.
    for (let cut = 1; cut < letters.length; cut++) {
      const [left, right] = [letters.slice(0, cut).join(""), letters.slice(cut).join("")];
      const known = cut < 3 || index % 4 === 0;
      if (known) yield `${left} ${right}`;
    }
  }
}

/** @param {number} size */
export function specialIds(size) {
  const text = textTokenCount(size);
  return { eos: text + IM_END, padding: text + END_OF_TEXT };
}

const PAIRS = FIRST_LETTERS.length * 26;
const TRIPLES = PAIRS * 26;
const QUADRUPLES = TRIPLES * 26;
/** Prime to QUADRUPLES = 27 · 26³, so that its multiples visit all of them, in no visible order. */
const STRIDE = 180_181;

export const LARGEST_VOCABULARY = 256 + PAIRS + TRIPLES + QUADRUPLES + 256;

/** The text token at `index` after the bytes: all of two letters, all of three, then of four. @param {number} index */
function word(index) {
  if (index < PAIRS) return spell(index, 2);
  if (index < PAIRS + TRIPLES) return spell(index - PAIRS, 3);
  return spell(((index - PAIRS - TRIPLES) * STRIDE) % QUADRUPLES, 4);
}

/** @param {number} number @param {number} length */
function spell(number, length) {
  let text = "";
  let rest = number;
  for (let i = 1; i < length; i++) {
    text = LETTERS[rest % 26] + text;
    rest = Math.floor(rest / 26);
  }
  return FIRST_LETTERS[rest] + text;
}

/** Each byte as GPT-2's tokenizer writes it: itself where it is printable, else a letter from U+0100 on. */
function* byteTokens() {
  let next = 256;
  for (let byte = 0; byte < 256; byte++) {
    const printable = (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
    yield String.fromCodePoint(printable ? byte : next++);
  }
}
