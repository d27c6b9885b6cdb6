/**
 * The expressions by which byte-level BPE tokenizers cut text into words, as llama.cpp has them (`llama-vocab.cpp`),
 * which are those of the models' `tokenizer.json` or differ in details that its users' token ids depend on.
 *
 * `\p` classes are those of Node.js' Unicode version; llama.cpp's tables are fixed. They differ in characters that
 * were assigned in between. All expressions match in linear time.
 */

// White_Space of Unicode, which `\s` means in these patterns. JavaScript's `\s` lacks U+0085 and has U+FEFF.
const S = "\\t-\\r \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
const CONTRACTION = "'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD]";
/** !"#$%&'()*+,-./:;<=>?@[\]^_`{|}~ */
const ASCII_PUNCTUATION = "!-\\/:-@\\[-`\\{-~";

// Of a run of white space, the last one goes to the word after it.
const SPACES = `[${S}]+(?![^${S}])|[${S}]+`;
const LINES = `[${S}]*[\\r\\n]+`;
const WORD = "[^\\r\\n\\p{L}\\p{N}]?\\p{L}+";
const MARKED_WORD = "[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+";
const SYMBOLS = ` ?[^${S}\\p{L}\\p{N}]+`;

const any = (...alternatives: readonly string[]): string => alternatives.join("|");

/** Single digits, lines and the like, which some families cut off before anything else. */
export const DIGIT = "\\p{N}";
export const THREE_DIGITS = "\\p{N}{1,3}";
export const LINE_BREAK = "[\\r\\n]";
export const LINE_OR_BREAKS = "[^\\n]+|\\n+";

export const GPT2 = any("'s|'t|'re|'ve|'m|'ll|'d", " ?\\p{L}+", " ?\\p{N}+", SYMBOLS, SPACES);

/** The pattern of GPT-4 and its heirs, which differ in how many digits make a word. */
export function gpt4(digits: string): string {
  return any(CONTRACTION, WORD, digits, `${SYMBOLS}[\\r\\n]*`, LINES, SPACES);
}

/** Qwen 3.5: combining marks belong to words. */
export const QWEN35 = any(
  CONTRACTION,
  MARKED_WORD,
  DIGIT,
  ` ?[^${S}\\p{L}\\p{M}\\p{N}]+[\\r\\n]*`,
  LINES,
  SPACES,
);

/** Words begin anew at an ASCII capital after a small letter; other letters count as either. */
function casedWords(letter: string, ending: string): string {
  const upper = `[${letter}--[a-z]]`;
  const lower = `[${letter}--[A-Z]]`;
  const prefix = "[^\\r\\n\\p{L}\\p{N}]?";
  return any(`${prefix}${upper}*${lower}+${ending}`, `${prefix}${upper}+${lower}*${ending}`);
}

const PATHS = `${SYMBOLS}[\\r\\n\\/]*`;
export const TEKKEN = any(casedWords("\\p{L}", ""), DIGIT, PATHS, LINES, SPACES);
export const GPT4O = any(casedWords("\\p{L}", `(?:${CONTRACTION})?`), THREE_DIGITS, PATHS, LINES, SPACES);

export const YOUTU_WORDS = any(`${MARKED_WORD}(?:${CONTRACTION})?`, DIGIT, PATHS, LINES, SPACES);
export const YOUTU_SCRIPTS = any(
  "[\\uac00-\\ud7a3\\u3131-\\u318e]+",
  "[\\uff01\\u2026\\u201c\\u201d\\u2018\\u2019\\u2014\\uff1a\\uff1b\\uff0c\\u3001-\\u303f\\ufe30-\\ufe4f]+",
  "[\\u3105-\\u312f]+",
  "[\\u4e00-\\u9fa5\\u3040-\\u309f\\u30a0-\\u30ff]+",
);

/** Han, Hangul and more; white space within the range counts as such. */
export const CJK = `[[\\u4e00-\\u9fa5\\u0800-\\u4e00\\uac00-\\ud7ff]--[${S}]]+`;

export const HAN_OR_KANA = "[\\u4e00-\\u9fa5\\u3040-\\u309f\\u30a0-\\u30ff]+";

const DEEPSEEK_WORDS = any(`[${ASCII_PUNCTUATION}][A-Za-z]+`, "[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+");
export const DEEPSEEK3 = any(DEEPSEEK_WORDS, " ?[\\p{P}\\p{S}]+[\\r\\n]*", LINES, SPACES);
export const SPARK = any(DEEPSEEK_WORDS, " ?[\\p{P}\\p{S}]+", LINE_BREAK, SPACES);

/** Letters with case, as they were in Unicode 10. */
const CASED = [
  "A-Za-z\\xb5\\xc0-\\xd6\\xd8-\\xf6\\xf8-\\u01ba\\u01bc-\\u01bf\\u01c4-\\u0293\\u0295-\\u02af",
  "\\u0370-\\u0373\\u0376\\u0377\\u037b-\\u037d\\u037f\\u0386\\u0388-\\u038a\\u038c\\u038e-\\u03a1",
  "\\u03a3-\\u03f5\\u03f7-\\u0481\\u048a-\\u052f\\u0531-\\u0556\\u10a0-\\u10c5\\u13a0-\\u13f5",
  "\\u13f8-\\u13fd\\u1c90-\\u1cba\\u1cbd-\\u1cbf\\u1d00-\\u1d2b\\u1d6b-\\u1d77\\u1d79-\\u1d9a",
  "\\u1e00-\\u1f15\\u1f18-\\u1f1d\\u1f20-\\u1f45\\u1f48-\\u1f4d\\u1f50-\\u1f57\\u1f59\\u1f5b\\u1f5d",
  "\\u1f5f-\\u1f7d\\u1f80-\\u1fb4\\u1fb6-\\u1fbc\\u1fbe\\u1fc2-\\u1fc4\\u1fc6-\\u1fcc\\u1fd0-\\u1fd3",
  "\\u1fd6-\\u1fdb\\u1fe0-\\u1fec\\u1ff2-\\u1ff4\\u1ff6-\\u1ffc\\u2102\\u2107\\u210a-\\u2113\\u2115",
  "\\u2119-\\u211d\\u2124\\u2126\\u2128\\u212a-\\u212d\\u212f-\\u2134\\u2139\\u213c-\\u213f",
  "\\u2145-\\u2149\\u214e\\u2183\\u2184\\u2c00-\\u2c7b\\u2c7e-\\u2ce4\\u2ceb-\\u2cee\\u2cf2\\u2cf3",
  "\\ua640-\\ua66d\\ua680-\\ua69b\\ua722-\\ua76f\\ua771-\\ua787\\ua78b-\\ua78e\\uab70-\\uabbf",
  "\\ufb00-\\ufb06\\ufb13-\\ufb17\\uff21-\\uff3a\\uff41-\\uff5a\\u{10400}-\\u{1044f}",
  "\\u{104b0}-\\u{104d3}\\u{104d8}-\\u{104fb}\\u{10c80}-\\u{10cb2}\\u{10cc0}-\\u{10cf2}",
  "\\u{118a0}-\\u{118df}\\u{1e900}-\\u{1e943}",
].join("");
export const DEEPSEEK_LETTERS = `[${S}]?[${CASED}]+`;
/** The ranges `:-~` and `：-～` hold letters too, so that these part from other letters. */
export const DEEPSEEK_PUNCTUATION = `[${S}]?[!-\\/:-\\~\\uff01-\\uff0f\\uff1a-\\uff5e\\u2018-\\u201f\\u3001\\u3002]+`;
/** White space at the end of a piece; looking back keeps the search linear. */
export const TRAILING_SPACES = `(?<![${S}])[${S}]+$`;
export const SPACED_LETTERS = `[${S}]?\\p{L}+`;
export const SPACED_PUNCTUATION = `[${S}]?\\p{P}+`;

export const FALCON_PUNCTUATION = "[\\p{P}$+<=>\\^~\\|`]+";
export const THREE_ASCII_DIGITS = "[0-9]{3}";

export const BLOOM = ` ?[^\\(${S}\\|.,!?…。，、।۔،\\)]+`;

export const CHAMELEON_SENTINEL = "<sentinel:[0-9]+>";
export const CHAMELEON_IMAGE = "IMGIMG[A-I]{1,4}Z";
export const CHAMELEON_SPACES = "[\\t\\n]|    |  ";
export const CHAMELEON_PUNCTUATION = `[\\p{P}${ASCII_PUNCTUATION}]`;

export const BAILING = any(
  "'(?:[sSdDmMtT]|[lL][lL]|[vV][eE]|[rR][eE])",
  WORD,
  DIGIT,
  `${SYMBOLS}[\\r\\n]*`,
  `[${S}]*[\\r\\n]`,
  SPACES,
);
export const SEED = any(CONTRACTION, WORD, DIGIT, ` ?[^${S}\\p{L}\\p{N}\\r\\n]+`, LINES, SPACES);
/** Qwen 2's without English contractions. */
export const UFAKZEKA = any(WORD, DIGIT, `${SYMBOLS}[\\r\\n]*`, LINES, SPACES);

/** Words of several letters each, with single spaces between them, are one. */
export const EXAONE_MOE = any(
  CONTRACTION,
  "[^\\r\\n\\p{L}\\p{N}]?\\p{L}\\p{M}*(?: ?\\p{L}\\p{M}*)*",
  DIGIT,
  `${SYMBOLS}[\\r\\n\\/]?`,
  `[${S}]*[\\r\\n]`,
  SPACES,
);

/** White space is cut by powers of two. */
export const JAIS2 = any(
  CONTRACTION,
  WORD,
  THREE_DIGITS,
  `${SYMBOLS}[\\r\\n]*`,
  LINES,
  ...[512, 256, 128, 64, 32, 16, 8, 4].map((count) => `[${S}]{${count}}(?![^${S}])`),
  `[${S}]{1,2}(?![^${S}])`,
  `[${S}]`,
);

const HAN =
  "\\u4e00-\\u9fff\\u3400-\\u4dbf\\u{20000}-\\u{2a6df}\\u{2a700}-\\u{2ebef}\\uf900-\\ufaff\\u{2f800}-\\u{2fa1f}";
/** Kimi K2: Chinese characters, then words without them. */
export const KIMI = any(
  `[${HAN}]+`,
  `[^\\r\\n\\p{L}\\p{N}]?[\\p{L}--[${HAN}]]+(?:${CONTRACTION})?`,
  THREE_DIGITS,
  `${SYMBOLS}[\\r\\n]*`,
  LINES,
  SPACES,
);

/** Scripts of AFMoE that do without spaces; llama.cpp has U+8C48 where U+F900 was meant. */
export const AFMOE_SCRIPTS =
  "[\\u4e00-\\u9fff\\u3400-\\u4dbf\\u8c48-\\ufaff\\u3040-\\u309f\\u30a0-\\u30ff\\uff65-\\uff9f\\u2f00-\\u2fdf" +
  "\\u0e40-\\u0e7f\\u0e80-\\u0eff\\u1780-\\u17ff\\u1000-\\u109f\\uaa60-\\uaa7f\\ua9e0-\\ua9ff\\uac00-\\ud7af\\u1100-\\u11ff]+";
