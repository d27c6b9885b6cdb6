/** Many byte strings in one blob: text `i` is `blob[offsets[i], offsets[i + 1])`. */
export interface Texts {
  readonly blob: Uint8Array;
  /** One more than there are texts. */
  readonly offsets: Uint32Array;
}

const EMPTY = -1;

/** View of a text. */
export function textBytes({ blob, offsets }: Texts, id: number): Uint8Array {
  return blob.subarray(offsets[id], offsets[id + 1]);
}

/** FNV-1a over `bytes[from, to)`. */
function hash(bytes: Uint8Array, from: number, to: number): number {
  let value = 0x811c9dc5;
  for (let at = from; at < to; at++) value = Math.imul(value ^ bytes[at], 0x01000193);
  return value ^ (value >>> 15);
}

function sameBytes(texts: Texts, id: number, bytes: Uint8Array, from: number, to: number): boolean {
  let at = texts.offsets[id];
  if (texts.offsets[id + 1] - at !== to - from) return false;
  for (let other = from; other < to; other++) if (texts.blob[at++] !== bytes[other]) return false;
  return true;
}

/** The smallest power of two of which `count` entries fill at most two thirds. */
export function tableSize(count: number): number {
  return 2 ** Math.ceil(Math.log2(Math.max(2, count * 1.5)));
}

/**
 * Hash table (open addressing, linear probing) that finds a text's id by its bytes.
 *
 * @param included ids to leave out answer false; empty texts are always left out.
 * @returns ids, or -1 in empty slots; a power of two of them. `duplicate` is the id of a text that comes twice.
 */
export function buildIndex(
  texts: Texts,
  count: number,
  included: (id: number) => boolean,
): { index: Int32Array; duplicate: number | undefined } {
  const index = new Int32Array(tableSize(count)).fill(EMPTY);
  let duplicate: number | undefined;
  for (let id = 0; id < count; id++) {
    const from = texts.offsets[id];
    const to = texts.offsets[id + 1];
    if (from === to || !included(id)) continue;
    let slot = hash(texts.blob, from, to) & (index.length - 1);
    while (index[slot] !== EMPTY && !sameBytes(texts, index[slot], texts.blob, from, to)) {
      slot = (slot + 1) & (index.length - 1);
    }
    if (index[slot] === EMPTY) index[slot] = id;
    else duplicate ??= id;
  }
  return { index, duplicate };
}

/** Id of the text `bytes[from, to)`, or -1. */
export function findText(
  texts: Texts,
  index: Int32Array,
  bytes: Uint8Array,
  from: number,
  to: number,
): number {
  let slot = hash(bytes, from, to) & (index.length - 1);
  while (index[slot] !== EMPTY && !sameBytes(texts, index[slot], bytes, from, to)) {
    slot = (slot + 1) & (index.length - 1);
  }
  return index[slot];
}
