/** Which types the tensors of a model have, layer by layer. */
import { formatBytes } from "../format-bytes.ts";
import type { Gguf, TensorInfo } from "../gguf/types.ts";
import { formatTable } from "../timing/table.ts";

/** Tensors, weights and bytes of one type. */
export interface TypeTotal {
  readonly type: string;
  readonly tensors: number;
  readonly weights: number;
  readonly bytes: number;
}

/** A layer, the embedding, or what is neither. */
export interface Place {
  readonly name: string;
  /** Absent for what is no layer. */
  readonly layer?: number;
  /** Bytes by type, in the order of `typeTotals`. */
  readonly bytes: Readonly<Record<string, number>>;
}

/** Lines that the table may have: layers that are all different must not fill screens. */
const MOST_LINES = 16;

/** By bytes, most first. */
export function typeTotals(gguf: Gguf): TypeTotal[] {
  const totals = new Map<string, TypeTotal>();
  for (const { type, shape, bytes } of gguf.tensors.values()) {
    const sum = totals.get(type) ?? { type, tensors: 0, weights: 0, bytes: 0 };
    const weights = sum.weights + shape.reduce((product, size) => product * size, 1);
    totals.set(type, { type, tensors: sum.tensors + 1, weights, bytes: sum.bytes + bytes });
  }
  return [...totals.values()].sort((a, b) => b.bytes - a.bytes);
}

/** How many bytes each layer has in which type: embedding, layers by number, others. */
export function quantMix(gguf: Gguf): Place[] {
  const types = typeTotals(gguf).map(({ type }) => type);
  const places = new Map<string, { order: number; layer?: number; bytes: Record<string, number> }>();
  for (const tensor of gguf.tensors.values()) {
    const { name, ...where } = placeOf(tensor);
    const place = places.get(name) ?? { ...where, bytes: Object.fromEntries(types.map((type) => [type, 0])) };
    place.bytes[tensor.type] += tensor.bytes;
    places.set(name, place);
  }
  return [...places]
    .sort(([, a], [, b]) => a.order - b.order)
    .map(([name, { layer, bytes }]) => ({ name, ...(layer !== undefined && { layer }), bytes }));
}

function placeOf({ name }: TensorInfo): { name: string; order: number; layer?: number } {
  const layer = /^blk\.(\d{1,9})\./.exec(name);
  if (layer !== null)
    return { name: `layer ${Number(layer[1])}`, order: Number(layer[1]), layer: Number(layer[1]) };
  if (name.startsWith("token_embd.")) return { name: "embedding", order: -1 };
  return name.startsWith("output")
    ? { name: "output", order: Infinity }
    : { name: "others", order: Number.MAX_VALUE };
}

/** The mix as a table, layers of the same mix in one line. */
export function mixLines(gguf: Gguf): string[] {
  const totals = typeTotals(gguf);
  const groups = new Map<string, Place[]>();
  for (const place of quantMix(gguf)) {
    const key = place.layer === undefined ? place.name : JSON.stringify(place.bytes);
    groups.set(key, [...(groups.get(key) ?? []), place]);
  }
  const cells = (bytes: Readonly<Record<string, number>>) => [
    ...totals.map(({ type }) => (bytes[type] === 0 ? "-" : formatBytes(bytes[type]))),
    formatBytes(totals.reduce((sum, { type }) => sum + bytes[type], 0)),
  ];
  const lines = [...groups.values()];
  const shown = lines.length <= MOST_LINES ? lines : [...lines.slice(0, MOST_LINES - 2), lines.at(-1)!];
  const table = formatTable([
    ["  bytes by type", ...totals.map(({ type }) => type), "together"],
    ...shown.map((group) => [`  ${groupName(group)}`, ...cells(group[0].bytes)]),
    ["  all", ...cells(Object.fromEntries(totals.map(({ type, bytes }) => [type, bytes])))],
    ["  tensors", ...totals.map(({ tensors }) => `${tensors}`), `${gguf.tensors.size}`],
  ]);
  if (shown.length < lines.length)
    table.splice(MOST_LINES, 0, `  … ${lines.length - shown.length} more kinds of layers (--json has them)`);
  return table;
}

/** `each of layers 0-3, 6 and 9`, or the name of what is there once. */
function groupName(group: readonly Place[]): string {
  if (group.length === 1) return group[0].name;
  const numbers = group.map(({ layer }) => layer!);
  const ranges: string[] = [];
  for (let from = 0; from < numbers.length; ) {
    let to = from;
    while (numbers[to + 1] === numbers[to] + 1) to++;
    ranges.push(from === to ? `${numbers[from]}` : `${numbers[from]}-${numbers[to]}`);
    from = to + 1;
  }
  const text = ranges.length > 6 ? `${ranges.slice(0, 5).join(" ")} … ${ranges.at(-1)}` : ranges.join(" ");
  return `each of ${group.length} layers: ${text}`;
}
