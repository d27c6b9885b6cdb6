import { Command, Option } from "commander";
import { compareEmbeddings, type Embeddings } from "../engine/embeddings.ts";
import { SluiceError } from "../errors.ts";
import { type Cache, openCache } from "../store/cache.ts";
import { createTokenizer } from "../text/tokenizer.ts";
import type { Tokenizer } from "../text/types.ts";
import { decodeUtf8 } from "../text/utf8.ts";
import { addUnpackOptions, ensureUnpacked, type UnpackFlags } from "./ensure-unpacked.ts";
import { type EmbedReport, embedPage } from "./html/embed-page.ts";
import { interruptSignal } from "./interrupt.ts";
import { LiveLine } from "./live-line.ts";
import { chooseModel, MODEL_NEEDED } from "./model-argument.ts";
import { cachedTokenizerData, checkModelComesFirst } from "./model-file.ts";
import { note, print } from "./note.ts";
import { wholeNumber } from "./options.ts";
import { protectInputs } from "./output-target.ts";
import { printableJson, printableLine } from "./printable.ts";
import { modelReport } from "./run-report.ts";
import { showPiece } from "./show-piece.ts";
import { textTable } from "./text-table.ts";
import { writeOutput } from "./write-output.ts";

type EmbedFlags = UnpackFlags & {
  readonly model?: string;
  readonly nearest: number;
  readonly json?: boolean;
  readonly html?: string;
};

/** Texts to compare at most: the table of similarities has to be read by somebody. */
const MOST_TEXTS = 100;

const EXAMPLES = `
Most tokens begin with a space, as words in the middle of a sentence do:
  sluice embed model.gguf " breakfast" " lunch" " baseball"`;

export function embedCommand(): Command {
  const command = new Command("embed")
    .description(
      "Compare the token embeddings of texts: dot products, cosine similarity, and the nearest tokens of the vocabulary. A text of several tokens is the mean of theirs. The table of embeddings is read once, in chunks.",
    )
    .usage("[options] <model> <texts...>")
    .argument("[model]", MODEL_NEEDED)
    .argument("[texts...]", "texts, each in quotes")
    .option("-m, --model <file>", "the model, as an option")
    .addOption(
      new Option("--nearest <n>", "tokens to find for each text").argParser(wholeNumber(0, 100)).default(5),
    )
    .option("--json", "as one JSON object")
    .option("--html <file>", "draw it, into one HTML file; - for stdout");
  return protectInputs(addUnpackOptions(command), "html")
    .addHelpText("after", EXAMPLES)
    .action(async (first: string | undefined, rest: readonly string[], flags: EmbedFlags) => {
      // With -m, the first argument is a text already.
      const withOption = flags.model !== undefined && first !== undefined;
      const texts = withOption ? [first, ...rest] : rest;
      if (first === undefined && flags.model === undefined)
        command.error(
          "error: no model: give a GGUF file as the first argument or with -m, and then the texts",
        );
      if (!withOption && first !== undefined) checkModelComesFirst(first);
      const path = chooseModel(withOption ? undefined : first, flags.model, command, "");
      if (texts.length === 0) command.error("error: no text: give the texts to compare, each in quotes");
      if (texts.length > MOST_TEXTS) {
        command.error(`error: ${texts.length} texts are more than can be compared: ${MOST_TEXTS} at most`);
      }
      if (texts.includes("")) command.error("error: a text is empty: it has no tokens");
      await embed(openCache(await ensureUnpacked(path, flags)), texts, flags);
    });
}

async function embed(cache: Cache, texts: readonly string[], flags: EmbedFlags): Promise<void> {
  const tokenizer = createTokenizer(cachedTokenizerData(cache));
  const ids = texts.map((text) => tokensOf(tokenizer, text));
  const live = new LiveLine(process.stderr);
  const found = await compareEmbeddings(cache.folder, ids, {
    nearest: flags.nearest,
    signal: interruptSignal,
    onProgress: (rows, total) => live.show(() => [`token ${rows}/${total}`]),
  }).finally(() => live.clear());
  const report = reportEmbeddings(cache, tokenizer, texts, ids, found);
  if (flags.html !== undefined) {
    const page = Buffer.from(embedPage(report));
    await writeOutput(flags.html, async (write) => write(page), "--html");
    if (flags.html !== "-") note(`The page is ${flags.html}`);
    if (!flags.json || flags.html === "-") return;
  }
  print(`${flags.json ? printableJson(report, 0) : embedLines(report, tokenizer).join("\n")}\n`);
}

function tokensOf(tokenizer: Tokenizer, text: string): number[] {
  const ids = tokenizer.encode(text, { special: true });
  if (ids.length > 0) return ids;
  throw new SluiceError("bad-input", `the text "${text}" has no tokens`, { next: "Leave it out." });
}

function reportEmbeddings(
  cache: Cache,
  tokenizer: Tokenizer,
  texts: readonly string[],
  ids: readonly (readonly number[])[],
  { width, texts: found, dot, cosine, projection }: Embeddings,
): EmbedReport {
  const piece = (id: number) => decodeUtf8(tokenizer.bytes(id, true));
  // A token that is one of the texts is there already.
  const alone = new Set(ids.flatMap((list) => (list.length === 1 ? list : [])));
  const labels = [...texts, ...projection.tokens.map(piece)];
  const points = labels.flatMap((label, index) => {
    const [x, y] = projection.points[index];
    const twice = index >= texts.length && alone.has(projection.tokens[index - texts.length]);
    return twice ? [] : [{ label, x, y }];
  });
  return {
    model: modelReport(cache),
    width,
    texts: texts.map((text, index) => ({
      text,
      ids: ids[index],
      pieces: ids[index].map(piece),
      norm: found[index].norm,
      nearest: found[index].nearest.map((near) => ({ ...near, piece: piece(near.id) })),
    })),
    dot,
    cosine,
    projection: { shares: projection.shares, points },
  };
}

function embedLines({ model, width, texts, dot, cosine }: EmbedReport, tokenizer: Tokenizer): string[] {
  const names = texts.map(({ text }) => `"${printableLine(text)}"`);
  const piece = (id: number) => showPiece(tokenizer.bytes(id, true));
  const table = (title: string, values: readonly (readonly number[])[], digits: number) =>
    textTable([
      [title, ...names],
      ...values.map((row, i) => [names[i], ...row.map((x) => x.toFixed(digits))]),
    ]);
  return [
    `${printableLine(model.name)}, ${model.dtype}: vectors of ${width} values`,
    "",
    ...textTable(
      [
        ["text", "length", "tokens"],
        ...texts.map(({ ids, norm }, i) => [names[i], norm.toFixed(4), ids.map(piece).join(" ")]),
      ],
      [0, 2],
    ),
    "",
    ...table("cosine", cosine, 3),
    "",
    ...table("dot product", dot, 4),
    ...(texts[0].nearest.length === 0
      ? []
      : ["", "nearest tokens, by cosine", ...textTable(nearestRows(texts, names, piece))]),
  ];
}

function nearestRows(
  texts: EmbedReport["texts"],
  names: readonly string[],
  piece: (id: number) => string,
): string[][] {
  return texts.map(({ nearest }, i) => [
    names[i],
    ...nearest.map(({ id, cosine }) => `${piece(id)} ${cosine.toFixed(3)}`),
  ]);
}
