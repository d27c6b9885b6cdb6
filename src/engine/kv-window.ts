/**
 * The way of keys and values that do not stay in memory: for each of their layers the blocks of all sequences of a sweep
 * are read from the file into a window in memory, and those that the sweep adds to are written back. Each thread has its
 * share of the blocks. The disk is not idle meanwhile: the ring of weights fills up.
 */
import type { Address } from "../kernels/types.ts";
import { readPart, writePart } from "../stream/kv-file.ts";
import type { Arena } from "./arena.ts";
import type { KvPool } from "./kv-cache.ts";
import type { KvSplit } from "./kv-split.ts";
import type { Row } from "./row-filler.ts";
import type { Team } from "./team.ts";

/** Words of a block in the list: its place in the file, and what is to be done with it. */
const ENTRY_WORDS = 2;
/** There is nothing in the file that is its own. */
const FRESH = 1;
/** The sweep adds to it. */
const WRITTEN = 2;

/** What threads are told of the window. */
export interface KvWindow {
  readonly split: KvSplit;
  readonly descriptor: number;
  /** The window: blocks of one layer. */
  readonly window: Address;
  /** The blocks in it: how many, then for each two words. */
  readonly list: Address;
}

export function allocateWindow(arena: Arena, split: KvSplit, descriptor: number): KvWindow {
  return {
    split,
    descriptor,
    window: arena.allocate(split.blocks * split.windowBytes),
    list: arena.allocate((1 + ENTRY_WORDS * split.blocks) * 4),
  };
}

/**
 * Main thread: list the blocks of a sweep, and tell each sequence where they will be in the window.
 *
 * @returns to be called when the sweep is done
 */
export function listBlocks(
  { split, window, list }: KvWindow,
  arena: Arena,
  pool: KvPool,
  rows: readonly Row[],
): () => void {
  const words = arena.words(list, 1 + ENTRY_WORDS * split.blocks);
  const indices = new Map<Address, number>();
  const written = new Set<Address>();
  for (const { sequence, position } of rows) written.add(sequence.blockAt(position));
  for (const sequence of new Set(rows.map((row) => row.sequence))) {
    const table = arena.words(sequence.table + split.blocks * 4, split.blocks);
    for (const [index, block] of sequence.addresses.entries()) {
      const at = indices.get(block) ?? indices.size;
      indices.set(block, at);
      table[index] = window + at * split.windowBytes;
      const { place, fresh } = pool.placeOf(block);
      words[1 + ENTRY_WORDS * at] = place;
      words[2 + ENTRY_WORDS * at] = (fresh ? FRESH : 0) | (written.has(block) ? WRITTEN : 0);
    }
  }
  words[0] = indices.size;
  return () => {
    for (const block of written) pool.written(block);
  };
}

/** A compute thread: bring its share of a layer's blocks into the window. */
export function loadWindow(kv: KvWindow, words: Uint32Array, team: Team, layer: number): void {
  each(kv, words, team, layer, (bytes, offset, flags) => {
    if (flags & FRESH) bytes.fill(0);
    else readPart(kv.descriptor, bytes, offset);
  });
}

/** A compute thread: write its share of what was added to, once all threads have added theirs. */
export function saveWindow(kv: KvWindow, words: Uint32Array, team: Team, layer: number): void {
  each(kv, words, team, layer, (bytes, offset, flags) => {
    if (flags & WRITTEN) writePart(kv.descriptor, bytes, offset);
  });
}

function each(
  { split, window, list }: KvWindow,
  words: Uint32Array,
  team: Team,
  layer: number,
  visit: (bytes: Uint8Array, offset: number, flags: number) => void,
): void {
  const count = words[list / 4];
  const end = team.end(count);
  for (let at = team.first(count); at < end; at++) {
    const entry = list / 4 + 1 + ENTRY_WORDS * at;
    const bytes = new Uint8Array(words.buffer, window + at * split.windowBytes, split.layerBytes[layer]);
    visit(bytes, words[entry] * split.streamedBytes + split.offsets[layer], words[entry + 1]);
  }
}
