import { existsSync } from "node:fs";
import { Command } from "commander";
import { SluiceError } from "../errors.ts";
import { formatBytes } from "../format-bytes.ts";
import { isStoreName } from "../models-on-disk/find-model.ts";
import { createTokenizer } from "../text/tokenizer.ts";
import type { Tokenizer } from "../text/types.ts";
import { decodeUtf8 } from "../text/utf8.ts";
import { MODEL_ARGUMENT, modelOrBundled } from "./model-argument.ts";
import { checkModelComesFirst, readTokenizerData } from "./model-file.ts";
import { print } from "./note.ts";
import { printableJson } from "./printable.ts";
import { readInput } from "./read-input.ts";
import { showPiece } from "./show-piece.ts";

const NEWLINE = 0x0a;
const CARRIAGE_RETURN = 0x0d;

interface TokenizeFlags {
  readonly model?: string;
  readonly file?: string;
  readonly special?: boolean;
  readonly bos?: boolean;
  readonly json?: boolean;
}

/** Merging takes some fifty times the text in memory. */
const MOST_BYTES = 4e6;

export function tokenizeCommand(): Command {
  const command = new Command("tokenize")
    .description("Show the tokens of a text, one a line: its id and what it stands for.")
    .argument("[model]", `${MODEL_ARGUMENT}; a file with nothing but a vocabulary will do`)
    .argument("[text]", "the text; without it or with - it comes from stdin")
    .option("-m, --model <file>", "the model, as an option")
    .option("-f, --file <file>", "the text is in this file, which may hold any bytes")
    .option("--special", "special tokens in the text become single tokens")
    .option("--bos", "add the tokens that the model wants before and after a text")
    .option("--json", "as one JSON object of ids and pieces")
    .action(async (first: string | undefined, second: string | undefined, flags: TokenizeFlags) => {
      // With -m, the first argument is the text already; and where it can be no model.
      const isText = flags.model !== undefined || (second === undefined && !flags.file && isNoModel(first));
      const [model, text, extra] = isText ? [undefined, first, second] : [first, second];
      const path = modelOrBundled(model, flags.model, command);
      if (extra !== undefined) command.error("error: too many arguments: the model is given with -m");
      if (text !== undefined && flags.file !== undefined) {
        command.error("error: more than one text: give it as an argument or with -f, not both");
      }
      if (model !== undefined) checkModelComesFirst(model);
      const tokenizer = createTokenizer(readTokenizerData(path));
      const input = text === undefined || text === "-" ? await readBytes(flags.file ?? "-") : text;
      if (input.length > MOST_BYTES)
        throw new SluiceError("bad-input", `a text of ${formatBytes(input.length)} is too long`, {
          next: `Give at most ${formatBytes(MOST_BYTES)} at once.`,
        });
      const ids = tokenizer.encode(input, { special: flags.special === true, bos: flags.bos === true });
      print(flags.json ? `${tokensJson(tokenizer, ids)}\n` : tokenLines(tokenizer, ids));
    });
  return command;
}

/** Whether a text names no model: nothing that is there, nor in a store, nor what should be a model file. */
function isNoModel(text: string | undefined): boolean {
  return text !== undefined && !existsSync(text) && !isStoreName(text) && !/\.gguf$/i.test(text);
}

/** All bytes of a file; of stdin without the newline that ends the last line. */
async function readBytes(path: string): Promise<Uint8Array> {
  const bytes = await readInput(path);
  if (path !== "-" || bytes.at(-1) !== NEWLINE) return bytes;
  return bytes.subarray(0, bytes.at(-2) === CARRIAGE_RETURN ? -2 : -1);
}

function tokensJson(tokenizer: Tokenizer, ids: readonly number[]): string {
  return printableJson({ ids, pieces: ids.map((id) => decodeUtf8(tokenizer.bytes(id, true))) });
}

function tokenLines(tokenizer: Tokenizer, ids: readonly number[]): string {
  const width = String(tokenizer.size).length;
  return ids.map((id) => `${String(id).padStart(width)} ${showPiece(tokenizer.bytes(id, true))}\n`).join("");
}
