import { existsSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { SluiceError } from "../../src/errors.ts";
import { PRE_TOKENIZERS, preTokenizerName, supportedNames } from "../../src/text/pre-tokenizers.ts";
import { decodeUtf8 } from "../../src/text/utf8.ts";
import { splitWords } from "../../src/text/word-splitter.ts";

function words(name: string, text: string): string[] {
  return [...splitWords(text, PRE_TOKENIZERS[preTokenizerName(name)].steps)];
}

const NAMES = Object.keys(PRE_TOKENIZERS);

describe("words", () => {
  // Every difference between two families has a case here; llama.cpp cuts them so.
  test.each<[string, string, string]>([
    ["gpt-2", "I'll go  1234 x!", "I|'ll| go| | 1234| x|!"],
    ["gpt-2", "I'LL", "I|'|LL"],
    ["mpt", "a  \n b", "a|  \n| b"],
    ["llama4", "HTTPServer's /a/\nb", "HTTPServer's| /|a|/\n|b"],
    ["gpt-4o", "helloWorld12345", "hello|World|123|45"],
    ["gpt-4o", "日本abcABc", "日本abc|ABc"],
    ["tekken", "helloWorld's 123", "hello|World|'s| |1|2|3"],
    ["tekken", "a/\n/b", "a|/\n/|b"],
    ["qwen35", "हिन्दी e\u0301a", "हिन्दी| e\u0301a"],
    ["qwen2", "हिन्दी", "ह|िन|्द|ी"],
    ["starcoder", " 12 a", " |1|2| a"],
    ["command-r", "x  12", "x|  |1|2"],
    ["falcon", "a==b 12345 $5", "a|==|b| |123|45| |$|5"],
    ["deepseek-llm", "a bü。12 ab中\n\n ", "a| b|ü|。|12| ab|中|\n|\n| "],
    ["deepseek-coder", "ab中12?! x\n", "ab|中|1|2|?!| x|\n"],
    ["deepseek-v3", "a12345 中文ab #define", "a|123|45| |中文|ab| #|define"],
    ["bloom", "a, (b) c.", "a|, (|b|)| c|."],
    ["viking", " 12 ab", " |1|2| ab"],
    ["chameleon", "IMGIMGABZ  a1!?", "IMGIMGABZ|  |a|1|!|?"],
    ["jais-2", `${" ".repeat(7)}a`, "    |  | a"],
    ["bailingmoe", "'Dx\n\n a", "'D|x|\n\n| a"],
    ["seed-coder", "a!\nb", "a|!|\n|b"],
    ["llama-bpe", "a!\nb", "a|!\n|b"],
    ["exaone-moe", "a b  c 1", "a b| | c| |1"],
    ["kimi-k2", "ab中文cd's", "ab|中文|cd's"],
    ["youtu", "가나ab。！中12", "가나|ab|。！|中|1|2"],
    ["afmoe", "x1234567 ไทย", "x|1|234|567| |ไ|ทย"],
    ["laguna", "a \n\n b1", "a| |\n\n| b|1"],
    ["minicpm5", "a12345", "a|123|45"],
    ["spark2_5", "a!\n\nb12", "a|!|\n|\n|b|1|2"],
    ["ufakzeka", "Ali'nin 12", "Ali|'nin| |1|2"],
  ])("%s: %j", (name, text, expected) => {
    expect(words(name, text)).toEqual(expected.split("|"));
  });

  test("together are the text", () => {
    const text = " \n\t a'sB\u3000中文12٣४² \u0301é!? \u{10400}\u{20000}😀 \u2028\x85\ufeff\0 … ";
    for (const name of NAMES) expect(words(name, text).join("")).toBe(text);
  });

  const hostile = [
    " ",
    "a",
    "\n",
    "1",
    "A",
    "é",
    "中",
    "!",
    "\u3000",
    " a",
    "a ",
    "\n ",
    "'",
    "\u0301",
    "aA",
    "😀",
  ];
  test.each(NAMES)(
    "%s takes linear time",
    (name) => {
      for (const unit of hostile) {
        for (const end of ["", "a", "!"]) {
          const text = unit.repeat(200_000 / unit.length) + end;
          const start = performance.now();
          let length = 0;
          for (const word of splitWords(text, PRE_TOKENIZERS[preTokenizerName(name)].steps))
            length += word.length;
          expect(length).toBe(text.length);
          expect(performance.now() - start, JSON.stringify(unit + end)).toBeLessThan(3000);
        }
      }
    },
    30_000,
  );
});

describe("names", () => {
  test("are there once", () => {
    const names = supportedNames();
    expect(new Set(names).size).toBe(names.length);
    for (const name of names) expect(NAMES).toContain(preTokenizerName(name));
  });

  test("that are not known are refused with what is, and what to report", () => {
    const refuse = (name: string | undefined): SluiceError => {
      try {
        throw new Error(preTokenizerName(name));
      } catch (error) {
        return error as SluiceError;
      }
    };
    expect(refuse("new-model")).toMatchObject({ code: "unsupported" });
    expect(refuse("new-model").next).toMatch(/llama-bpe, llama3, .*, ufakzeka.*report the name "new-model"/);
    expect(refuse(undefined).message).toContain("no tokenizer.ggml.pre");
    expect(refuse("constructor")).toBeInstanceOf(SluiceError);
  });
});

const EXTENDED = "../shared/vectors/tokenizer/extended";

/**
 * Vocabularies that are not there, but whose tokens' bytes are: words must end where tokens end, and the same word
 * must have the same ids wherever it stands.
 */
describe.runIf(existsSync(EXTENDED))("words of llama.cpp's tokens", () => {
  test.each(["command-r", "refact", "qwen35", "starcoder", "falcon", "deepseek-llm"])("%s", (name) => {
    const lines = readFileSync(`${EXTENDED}/ggml-vocab-${name}.jsonl`, "utf8").trim().split("\n");
    const known = new Map<string, string>();
    let checked = 0;
    for (const line of lines) {
      const { plain, parse_special, pieces_hex_of_parse_special: pieces } = JSON.parse(line);
      const bytes = pieces.map((piece: string) => Buffer.from(piece, "hex"));
      const text = decodeUtf8(Buffer.concat(bytes));
      // Special tokens are cut out first, and broken UTF-8 was replaced.
      if (`${plain}` !== `${parse_special}` || JSON.parse(line).text_hex !== pieces.join("")) continue;
      let token = 0;
      for (const word of words(name, text)) {
        const ids: number[] = [];
        let left = Buffer.byteLength(word);
        while (left > 0) {
          left -= bytes[token].length;
          ids.push(plain[token++]);
        }
        expect({ text, word, left }).toEqual({ text, word, left: 0 });
        if (known.has(word))
          expect({ text, word, ids: `${ids}` }).toEqual({ text, word, ids: known.get(word) });
        known.set(word, `${ids}`);
        checked++;
      }
    }
    expect(checked).toBeGreaterThan(300);
  });
});
