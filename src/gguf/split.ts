import { existsSync } from "node:fs";
import { SluiceError } from "../errors.ts";
import { openFile } from "./open-file.ts";
import { parsePartName, partPath } from "./split-names.ts";
import { alignUp } from "./tensor-table.ts";
import type { Gguf, GgufPart, TensorInfo } from "./types.ts";

/** Missing parts that an error names. */
const SHOWN = 5;

/** What a part says about itself (keys `split.*`, which llama.cpp's gguf-split writes into every part). */
interface PartHeader {
  /** From 1; the file counts from 0. */
  readonly number: number;
  readonly count: number;
  /** Tensors of the whole model. */
  readonly tensors: number | undefined;
}

/** Number of parts that a file says its model has; 1 for a model in one file. */
export function partCount(file: Gguf): number {
  return integer(file, "split.count") ?? 1;
}

/**
 * Open all parts of a split model as one: tensors of all, metadata of the first, offsets as if the files lay one
 * behind the other. Every part's header is read; the parts must be there, each once, and agree with one another.
 *
 * @param given an open part, which is closed where that fails
 * @throws SluiceError `io` for a missing part, `bad-model` for parts that do not make up one model
 */
export function openSet(given: Gguf): Gguf {
  const files = [given];
  try {
    const header = readHeader(given);
    refuseJoined(given, header);
    const name = parsePartName(given.path);
    if (name === undefined || name.number !== header.number || name.count !== header.count) {
      throw bad(
        `${given.path} is part ${header.number} of ${header.count} of a split model, but is not named so`,
        `Name it NAME-${digits(header.number)}-of-${digits(header.count)}.gguf, beside the other parts.`,
      );
    }
    const paths = Array.from({ length: name.count }, (_, index) => partPath(name, index + 1));
    refuseMissing(given, paths);
    const parts = paths.map((path, index) => {
      if (index + 1 === header.number) return given;
      const file = openFile(path);
      files.push(file);
      return file;
    });
    for (const [index, part] of parts.entries()) checkPart(part, index + 1, given, header);
    return joinParts(parts, header);
  } catch (error) {
    for (const file of files) file.close();
    throw error;
  }
}

function readHeader(file: Gguf): PartHeader {
  const number = integer(file, "split.no");
  const count = partCount(file);
  if (number === undefined || number >= count) {
    throw bad(
      `${file.path} says that it is one of ${count} parts of a split model, and that its number is ${number ?? "missing"} (counted from 0)`,
      "The file is damaged or was split wrongly; download or split it again.",
    );
  }
  return { number: number + 1, count, tensors: integer(file, "split.tensors.count") };
}

/** A whole number of the metadata that is not negative. */
function integer({ path, metadata }: Gguf, key: string): number | undefined {
  const entry = metadata.get(key);
  if (entry === undefined) return undefined;
  const value = /^u?int/.test(entry.type) && "value" in entry ? Number(entry.value) : Number.NaN;
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw bad(`${path}: metadata ${key} is no whole number`, "The file is damaged; download it again.");
}

/** Parts that were joined with `cat` lie one behind the other, each with a header of its own. */
function refuseJoined(file: Gguf, { number, count }: PartHeader): void {
  let end = file.headerBytes;
  for (const { offset, bytes } of file.tensors.values()) end = Math.max(end, offset + bytes);
  // The last tensor's padding may be missing.
  for (const start of new Set([end, alignUp(end, file.alignment)])) {
    if (start + 4 > file.fileBytes) continue;
    const magic = new Uint8Array(4);
    file.read(start, magic);
    if (Buffer.from(magic).toString("latin1") !== "GGUF") continue;
    throw bad(
      `${file.path} holds several parts of a split model joined as by cat: part ${number} of ${count} ends at byte ${start} of ${file.fileBytes}, and another one begins there`,
      "Keep the parts as they were downloaded and give any of them, or join them with llama-gguf-split --merge.",
    );
  }
}

function refuseMissing(given: Gguf, paths: readonly string[]): void {
  const missing = paths.filter((path) => path !== given.path && !existsSync(path));
  if (missing.length === 0) return;
  const shown = missing.slice(0, SHOWN).join(", ") + (missing.length > SHOWN ? ", …" : "");
  throw new SluiceError(
    "io",
    missing.length === 1
      ? `one of the ${paths.length} parts of the split model is missing: ${shown}`
      : `${missing.length} of the ${paths.length} parts of the split model are missing: ${shown}`,
    { next: `Put all parts into one folder; ${given.path} is there.` },
  );
}

function checkPart(part: Gguf, number: number, given: Gguf, expected: PartHeader): void {
  const { path } = part;
  if (part === given) return;
  const next = "Download the parts again, all of the same model.";
  if (partCount(part) === 1) throw bad(`${path} is a model of its own, not part ${number}`, next);
  const header = readHeader(part);
  refuseJoined(part, header);
  if (header.count !== expected.count) {
    throw bad(`${path} belongs to ${header.count} parts, ${given.path} to ${expected.count}`, next);
  }
  if (header.number !== number) {
    throw bad(
      `${path} is part ${header.number}, so that part is there twice and part ${number} is not`,
      next,
    );
  }
  if (header.tensors !== expected.tensors) {
    const [mine, other] = [header.tensors, expected.tensors].map((count) => count ?? "an unknown number of");
    throw bad(`${path} belongs to a model of ${mine} tensors, ${given.path} to one of ${other}`, next);
  }
}

/** Only the first part has the architecture, but some tools repeat the metadata in all of them. */
function refuseMixed(parts: readonly Gguf[]): void {
  const architecture = ({ metadata }: Gguf): string | undefined => {
    const entry = metadata.get("general.architecture");
    return entry?.type === "string" ? entry.value : undefined;
  };
  const first = architecture(parts[0]);
  const other = parts.find((part) => ![undefined, first].includes(architecture(part)));
  if (other === undefined) return;
  throw bad(
    `${other.path} is of architecture ${architecture(other)}, ${parts[0].path} of ${first ?? "none"}`,
    "Download the parts again, all of the same model.",
  );
}

function joinParts(files: readonly Gguf[], header: PartHeader): Gguf {
  refuseMixed(files);
  const tensors = new Map<string, TensorInfo>();
  const parts: GgufPart[] = [];
  let start = 0;
  for (const file of files) {
    parts.push({ ...file.parts[0], start });
    for (const tensor of file.tensors.values()) {
      if (tensors.has(tensor.name)) {
        throw bad(
          `tensor ${JSON.stringify(tensor.name)} is in ${file.path} and in a part before it`,
          "Download the parts again, all of the same model.",
        );
      }
      tensors.set(tensor.name, { ...tensor, offset: start + tensor.offset });
    }
    start += file.fileBytes;
  }
  if (header.tensors !== undefined && tensors.size !== header.tensors) {
    throw bad(
      `the ${files.length} parts of ${files[0].path} have ${tensors.size} tensors; ${header.tensors} were expected`,
      "Download the parts again, all of the same model.",
    );
  }
  return {
    ...files[0],
    fileBytes: start,
    tensors,
    parts,
    read: (offset, target) => {
      const index = partOf(parts, offset);
      files[index].read(offset - parts[index].start, target);
    },
    close: () => {
      for (const file of files) file.close();
    },
  };
}

/** Index of the part in which a position among the bytes of all parts lies. */
export function partOf(parts: readonly GgufPart[], offset: number): number {
  const next = parts.findIndex((part) => part.start > offset);
  return (next < 0 ? parts.length : next) - 1;
}

function digits(value: number): string {
  return String(value).padStart(5, "0");
}

function bad(problem: string, next: string): SluiceError {
  return new SluiceError("bad-model", problem, { next });
}
