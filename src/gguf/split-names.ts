/** Names of the parts of a split model: `NAME-00001-of-00003.gguf`, as llama.cpp's gguf-split gives them. */
import { readdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { SluiceError } from "../errors.ts";

const PART = /^(.*)-(\d{5,})-of-(\d{5,})(\.gguf)$/i;

export interface PartName {
  /** What all parts begin with, with the folder. */
  readonly prefix: string;
  /** From 1. */
  readonly number: number;
  readonly count: number;
  /** `.gguf`, as the file writes it. */
  readonly ending: string;
}

/** What a path says about a part; undefined where it is not named as one. */
export function parsePartName(path: string): PartName | undefined {
  const match = PART.exec(basename(path));
  if (match === null) return undefined;
  const [, name, number, count, ending] = match;
  return { prefix: join(dirname(path), name), number: Number(number), count: Number(count), ending };
}

export function partPath({ prefix, count, ending }: Omit<PartName, "number">, number: number): string {
  const digits = (value: number): string => String(value).padStart(5, "0");
  return `${prefix}-${digits(number)}-of-${digits(count)}${ending}`;
}

/** The file name of a model, for a set without its number: `NAME.gguf`. */
export function modelFileName(path: string): string {
  const part = parsePartName(path);
  return part === undefined ? basename(path) : `${basename(part.prefix)}.gguf`;
}

/** Whether a folder holds parts of split models. */
export function holdsSplitModel(folder: string): boolean {
  return Object.keys(setsIn(folder)).length > 0;
}

/**
 * A part of the one split model that a folder holds.
 *
 * @throws SluiceError `bad-input` where there is none, or more than one
 */
export function partInFolder(folder: string): string {
  const sets = setsIn(folder);
  const names = Object.keys(sets);
  if (names.length === 1) return join(folder, sets[names[0]]);
  if (names.length === 0) {
    throw new SluiceError("bad-input", `${folder} is a directory without a split model`, {
      next: "Give the path of a .gguf file, or of a folder that holds the parts of one split model.",
    });
  }
  const shown = names.slice(0, 5).join(", ") + (names.length > 5 ? ", …" : "");
  throw new SluiceError("bad-input", `${folder} holds ${names.length} split models: ${shown}`, {
    next: "Give the path of any part of the one that you mean.",
  });
}

/** The first file of each set, by what tells one set from another. */
function setsIn(folder: string): Record<string, string> {
  const sets: Record<string, string> = Object.create(null);
  for (const name of namesIn(folder)) {
    const part = parsePartName(name);
    if (part !== undefined) sets[`${part.prefix} of ${part.count} parts`] ??= name;
  }
  return sets;
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).sort();
  } catch (cause) {
    throw new SluiceError("io", `cannot read the folder ${folder}: ${(cause as Error).message}`, {
      next: "Check that you may read it.",
      cause,
    });
  }
}
