import { readdirSync, statSync } from "node:fs";
import { join, sep } from "node:path";
import { SluiceError } from "../errors.ts";
import { parsePartName } from "../gguf/split-names.ts";

/** A model that lies in a folder: a file, or all parts of a split one. */
export interface ModelFile {
  /** Path within the folder, with `/`; of a split model without the number of a part. */
  readonly name: string;
  /** The file, or a part. */
  readonly path: string;
  /** Paths within the folder of the file, or of all parts that are there, with `/`. */
  readonly files: readonly string[];
}

/** What goes with a model and is none: projectors of vision models, importance matrices. */
const NO_MODEL = /(^|[-._/])(mmproj|imatrix)([-._]|$)/i;
/** Names that an error shows. */
const SHOWN = 10;

/** Names of what is in a folder, sorted; none where there is no such folder, or it may not be read. */
export function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).sort();
  } catch {
    return [];
  }
}

/** Files in a folder and those below it, with `/` in their names; links that lead nowhere are left out. */
export function filesBelow(folder: string): string[] {
  try {
    return readdirSync(folder, { recursive: true, encoding: "utf8" })
      .filter((name) => statSync(join(folder, name), { throwIfNoEntry: false })?.isFile())
      .map((name) => name.replaceAll(sep, "/"))
      .sort();
  } catch {
    return [];
  }
}

/** The models in a folder and those below it. */
export function modelFiles(folder: string): ModelFile[] {
  return modelsAmong(filesBelow(folder)).map((model) => ({ ...model, path: join(folder, model.files[0]) }));
}

/** The models among files of one folder, by their paths within it: of a split one all parts make one. */
export function modelsAmong(files: readonly string[]): Omit<ModelFile, "path">[] {
  const found = new Map<string, { readonly name: string; readonly files: string[] }>();
  for (const file of files) {
    if (!/\.gguf$/i.test(file) || NO_MODEL.test(file)) continue;
    const name = file.replace(/-\d{5,}-of-\d{5,}(?=\.gguf$)/i, "");
    // A set and a whole model may have one name but for the numbers.
    const key = `${name} ${parsePartName(file)?.count ?? 1}`;
    const model = found.get(key);
    if (model === undefined) found.set(key, { name, files: [file] });
    else model.files.push(file);
  }
  return [...found.values()];
}

/**
 * The model that is meant.
 *
 * @param spec what the user has typed, without the quant
 * @param quant a part of the file name between its dashes and dots, else any part of it, in any case; none: there must
 *   be one model only
 * @param elsewhere what else can be done where it is not here
 * @throws SluiceError `bad-input`, with what there is
 */
export function chooseFile(
  spec: string,
  files: readonly ModelFile[],
  quant: string | undefined,
  folder: string,
  elsewhere?: string,
): string {
  const fitting = fittingFiles(files, quant);
  if (fitting.length === 1) return fitting[0].path;
  if (files.length === 0) {
    throw new SluiceError(
      "bad-input",
      `${spec} has no GGUF file here; in ${folder} there is ${listed(filesBelow(folder))}`,
      {
        next:
          elsewhere ??
          "sluice takes GGUF files from there: download one of this model, or of a repository that has it as GGUF.",
      },
    );
  }
  const names = (fitting.length > 0 ? fitting : files).map(({ name }) => name);
  const asked = quant === undefined ? spec : `${spec}:${quant}`;
  throw new SluiceError(
    "bad-input",
    fitting.length > 0
      ? `${asked} could be ${fitting.length} models: ${listed(names)}`
      : `${asked} is not here; of ${spec} there is ${listed(names)}`,
    {
      next: [
        `Name one by a part of its file name: ${spec}:${quantOf(names[0])}`,
        ...(elsewhere !== undefined && fitting.length === 0 ? [elsewhere] : []),
      ].join("; "),
    },
  );
}

/** The models whose names have this quant in them, as `chooseFile` takes it; all where there is none. */
export function fittingFiles<T extends { readonly name: string }>(
  files: readonly T[],
  quant: string | undefined,
): readonly T[] {
  if (quant === undefined) return files;
  const wanted = quant.toLowerCase();
  const texts = files.map((file) => ({ file, text: file.name.toLowerCase() }));
  const whole = texts.filter(({ text }) => text === wanted || text === `${wanted}.gguf`);
  const words = texts.filter(({ text }) => hasWord(text, wanted));
  const parts = texts.filter(({ text }) => text.includes(wanted));
  return ([whole, words, parts].find((found) => found.length > 0) ?? []).map(({ file }) => file);
}

/** Whether a text has these words between dashes, dots, slashes and its ends. */
function hasWord(text: string, word: string): boolean {
  const isEnd = (character: string | undefined) => character === undefined || /[-./]/.test(character);
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1))
    if (isEnd(text[at - 1]) && isEnd(text[at + word.length])) return true;
  return false;
}

/** What in a file name tells one quant from another: `Q4_K_M`; else the name. */
export function quantOf(name: string): string {
  return (
    /(?:^|[-./])((?:UD-)?(?:I?Q\d\w*|TQ\d\w*|B?F(?:16|32)|MXFP4\w*))(?=[-./]|$)/i.exec(name)?.[1] ?? name
  );
}

/** `a, b, … and 12 more`, or `nothing`. */
export function listed(names: readonly string[]): string {
  if (names.length === 0) return "nothing";
  const shown = names.slice(0, SHOWN).join(", ");
  return names.length > SHOWN ? `${shown} … and ${names.length - SHOWN} more` : shown;
}
