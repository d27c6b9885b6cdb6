/** The file of a model drawn: what lies where, and how much of it. */
import { formatBytes } from "../format-bytes.ts";
import { fileLayout, type Section } from "../gguf/layout.ts";
import type { Gguf, GgufPart, MetadataValue } from "../gguf/types.ts";
import type { Glyphs } from "./glyphs.ts";
import { printableLine } from "./printable.ts";
import { textTable } from "./text-table.ts";

/** Columns that a whole file takes. */
const WIDTH = 24;
/** Lines of stretches in all; more parts get fewer each, but no fewer than `LEAST`. */
const MOST_LINES = 30;
const LEAST = 4;
/** Parts that are drawn from the beginning and from the end. */
const MOST_PARTS = 4;

/** Bytes that are drawn as one line. */
interface Stretch {
  readonly offset: number;
  readonly bytes: number;
  readonly text: string;
  /** Of a layer: what must agree for several to be drawn as one. */
  readonly layer?: { readonly first: number; readonly last: number; readonly key: string };
}

/**
 * Every part with its stretches: offset, bytes, where in the file, and what they are. Tensors of a layer are one
 * stretch, layers alike are drawn together, and no more than a screen is shown.
 *
 * @param verbose every tensor and every gap by itself, however many
 */
export function layoutLines(gguf: Gguf, { verbose, glyphs }: { verbose: boolean; glyphs: Glyphs }): string[] {
  const { parts } = gguf;
  const most = verbose ? Infinity : Math.max(LEAST, Math.floor(MOST_LINES / parts.length));
  const blocks = fileLayout(gguf).map((sections, index) => {
    const part = parts[index];
    const stretches = [...header(gguf, part, index, sections), ...data(sections, verbose)];
    const rows = middleOut(stretches, most).map(({ offset, bytes, text }) => [
      `${offset}`,
      `${bytes}`,
      map(offset, bytes, part.bytes, glyphs),
      text,
    ]);
    const table = textTable([["offset", "bytes", "", ""], ...rows], [2, 3]);
    const number = parts.length > 1 ? `part ${index + 1} of ${parts.length}, ` : "";
    return [
      `${number}${printableLine(part.path)}, ${part.bytes} bytes (${formatBytes(part.bytes)})`,
      ...table.map((line) => `  ${line}`),
      ...paddingLine(sections, gguf.alignment),
      "",
    ];
  });
  if (verbose || blocks.length <= 2 * MOST_PARTS) return blocks.flat().slice(0, -1);
  const left = blocks.length - 2 * MOST_PARTS;
  return [
    ...blocks.slice(0, MOST_PARTS).flat(),
    `… ${left} more parts (--verbose shows them)`,
    "",
    ...blocks.slice(-MOST_PARTS).flat(),
  ].slice(0, -1);
}

function header(gguf: Gguf, part: GgufPart, index: number, sections: readonly Section[]): Stretch[] {
  const count = sections.filter(({ kind }) => kind === "tensor").length;
  if (gguf.parts[0].derived) {
    const text = part.derived
      ? "config.json and tokenizer.json, as GGUF has them"
      : `header, table of ${count} tensors`;
    return [{ offset: 0, bytes: part.tableEnd, text }];
  }
  const texts = {
    head: `magic, version ${gguf.version}, counts`,
    // Of the parts of a set only the first one's metadata is read on.
    metadata:
      index === 0 ? `metadata, ${gguf.metadata.size} keys${largestKeys(gguf)}` : "metadata of the part",
    table: `table of ${count} tensors`,
  };
  return sections
    .flatMap(({ kind, offset, bytes }) =>
      kind in texts ? [{ offset, bytes, text: texts[kind as keyof typeof texts] }] : [],
    )
    .concat(
      sections
        .filter(({ kind, offset }) => kind === "padding" && offset === part.tableEnd)
        .map(({ offset, bytes }) => ({
          offset,
          bytes,
          text: `gap: data begins at a multiple of ${gguf.alignment}`,
        })),
    );
}

/** What of the metadata takes the most room. */
function largestKeys({ metadata }: Gguf): string {
  const largest = [...metadata]
    .map(([key, value]) => ({ key, bytes: valueBytes(value) }))
    .filter(({ bytes }) => bytes >= 1000)
    .sort((a, b) => b.bytes - a.bytes)
    .slice(0, 2);
  if (largest.length === 0) return "";
  return `: ${largest.map(({ key, bytes }) => `${printableLine(key.replace(/^.*\./, "").slice(0, 30))} ${formatBytes(bytes)}`).join(", ")}`;
}

function valueBytes(value: MetadataValue): number {
  if (value.type === "array") return value.bytes;
  return value.type === "string" ? Buffer.byteLength(value.value) : 8;
}

/** What follows the header: tensors, and whatever is behind them. */
function data(sections: readonly Section[], verbose: boolean): Stretch[] {
  const first = sections.findIndex(({ kind }) => kind === "tensor" || kind === "rest");
  const stretches = (first < 0 ? [] : sections.slice(first)).map((section) => stretchOf(section));
  if (verbose) return stretches.map(({ stretch }) => stretch);
  const joined: Stretch[] = [];
  for (const next of joinLayers(stretches)) {
    const before = joined.at(-1);
    if (before?.layer && next.layer?.key === before.layer.key && next.layer.first === before.layer.last + 1) {
      joined[joined.length - 1] = several(before, before.layer, next);
    } else joined.push(next);
  }
  return joined;
}

/** Layers alike as one stretch, `next` the last of them. */
function several({ offset }: Stretch, { first, key }: NonNullable<Stretch["layer"]>, next: Stretch): Stretch {
  const { last } = next.layer!;
  const bytes = next.offset + next.bytes - offset;
  const each = formatBytes(Math.round(bytes / (last - first + 1)));
  const text = `layers ${first} to ${last}, each ${each}: ${key}`;
  return { offset, bytes, text, layer: { first, last, key } };
}

interface Piece {
  readonly stretch: Stretch;
  readonly section: Section;
}

function stretchOf(section: Section): Piece {
  const { kind, offset, bytes, tensor } = section;
  const text =
    tensor === undefined
      ? kind === "padding"
        ? "gap"
        : "bytes behind the last tensor that belong to nothing"
      : `${printableLine(tensor.name)}  ${tensor.type}  ${tensor.shape.join(" x ")}`;
  return { stretch: { offset, bytes, text }, section };
}

/** Tensors of one layer that lie together, with the gaps between and behind them, become one stretch. */
function joinLayers(pieces: readonly Piece[]): Stretch[] {
  const stretches: Stretch[] = [];
  let open: { number: number; sections: Section[] } | undefined;
  const close = () => {
    if (open === undefined) return;
    const { number, sections } = open;
    const { offset } = sections[0];
    const last = sections.at(-1)!;
    const key = typesText(sections);
    const layer = { first: number, last: number, key };
    stretches.push({
      offset,
      bytes: last.offset + last.bytes - offset,
      text: `layer ${number}: ${key}`,
      layer,
    });
    open = undefined;
  };
  for (const { stretch, section } of pieces) {
    const match = /^blk\.(\d{1,9})\./.exec(section.tensor?.name ?? "");
    const number = match === null ? undefined : Number(match[1]);
    if (section.kind === "padding") {
      if (open !== undefined) open.sections.push(section);
      else if (stretches.length > 0) {
        const before = stretches.pop()!;
        stretches.push({ ...before, bytes: before.bytes + section.bytes });
      }
      continue;
    }
    if (number === undefined || number !== open?.number) close();
    if (number === undefined) stretches.push(stretch);
    else if (open === undefined) open = { number, sections: [section] };
    else open.sections.push(section);
  }
  close();
  return stretches;
}

/** `9 tensors, q8_0 52.2 kB, f32 512 B`. */
function typesText(sections: readonly Section[]): string {
  const bytes = new Map<string, number>();
  const tensors = sections.flatMap(({ tensor }) => tensor ?? []);
  for (const { type, bytes: more } of tensors) bytes.set(type, (bytes.get(type) ?? 0) + more);
  const types = [...bytes]
    .sort(([, a], [, b]) => b - a)
    .map(([type, size]) => `${type} ${formatBytes(size)}`);
  const count = `${tensors.length} ${tensors.length === 1 ? "tensor" : "tensors"}`;
  return [count, ...types].join(", ");
}

/** First and last stretches; what is between becomes one line. */
function middleOut(stretches: readonly Stretch[], most: number): Stretch[] {
  if (stretches.length <= most) return [...stretches];
  const head = Math.ceil((most - 1) / 2);
  const tail = stretches.length - (most - 1 - head);
  const { offset } = stretches[head];
  const bytes = stretches[tail - 1].offset + stretches[tail - 1].bytes - offset;
  const text = `… ${tail - head} more stretches (--verbose shows them)`;
  return [...stretches.slice(0, head), { offset, bytes, text }, ...stretches.slice(tail)];
}

/** Where in the file the bytes are. */
function map(offset: number, bytes: number, all: number, { parts, empty }: Glyphs): string {
  const from = Math.min(WIDTH - 1, Math.floor((offset / all) * WIDTH));
  const to = bytes === 0 ? from : Math.max(from + 1, Math.round(((offset + bytes) / all) * WIDTH));
  const full = parts[parts.length - 1];
  return empty.repeat(from) + full.repeat(to - from) + empty.repeat(Math.max(0, WIDTH - to));
}

function paddingLine(sections: readonly Section[], alignment: number): string[] {
  const gaps = sections.filter(({ kind }) => kind === "padding");
  if (gaps.length === 0) return ["  no gaps"];
  const bytes = gaps.reduce((sum, gap) => sum + gap.bytes, 0);
  return [
    `  ${gaps.length} ${gaps.length === 1 ? "gap" : "gaps"} for alignment to ${alignment}, ${bytes} bytes together`,
  ];
}
