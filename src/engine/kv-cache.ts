import { SluiceError } from "../errors.ts";
import { formatBytes } from "../format-bytes.ts";
import type { Address, KvType } from "../kernels/types.ts";
import type { Hyperparameters } from "../model/types.ts";
import { availableMemory } from "../stream/available-memory.ts";
import { type KvFile, readPart, writePart } from "../stream/kv-file.ts";
import { type Arena, MEMORY_BYTES } from "./arena.ts";
import { BLOCK_POSITIONS, kvBlockBytes } from "./kv-block.ts";
import { Sequence } from "./kv-sequence.ts";
import type { KvSplit } from "./kv-split.ts";

/** What a pool has beside memory: see KvSplit. */
export interface KvOverflow {
  readonly split: KvSplit;
  readonly file: KvFile;
}

/** Blocks of KV cache for all sequences of an engine; those given back are used again. */
export class KvPool {
  readonly #arena: Arena;
  /** Bytes of a block in memory, and of its part in the file. */
  readonly #blockBytes: number;
  readonly #streamedBytes: number;
  readonly #overflow: KvOverflow | undefined;
  readonly #spare: number;
  readonly #free: Address[] = [];
  /** With a file: the place of each block in it, and which blocks have nothing there that is theirs. */
  readonly #places = new Map<Address, number>();
  readonly #fresh = new Set<Address>();
  /** Of blocks that several sequences have: how many more than one. */
  readonly #shared = new Map<Address, number>();
  #stamps = 0;

  /** @param spare bytes of memory that a first sweep takes beside the KV cache */
  constructor(arena: Arena, model: Hyperparameters, type: KvType, spare = 0, overflow?: KvOverflow) {
    this.#spare = spare;
    this.#arena = arena;
    this.#overflow = overflow;
    // A block without anything in memory has an address all the same.
    this.#blockBytes = overflow ? overflow.split.residentBytes : kvBlockBytes(model, type);
    this.#streamedBytes = overflow?.split.streamedBytes ?? 0;
  }

  createSequence(contextLength: number): Sequence {
    const capacity = this.#overflow?.split.blocks ?? Math.ceil(contextLength / BLOCK_POSITIONS);
    // With a window, the addresses there come behind those of the blocks.
    const tables = this.#overflow ? 2 : 1;
    const bytes = this.#blockBytes + (this.#overflow?.split.windowBytes ?? 0);
    return new Sequence(this, this.#arena, this.#arena.allocate(tables * capacity * 4), bytes);
  }

  /** A block of zeros: what a conversation left in a block that was used before must not be saved with another. */
  take(): Address {
    const free = this.#free.pop();
    if (free !== undefined) {
      this.#arena.bytes(free, this.#blockBytes).fill(0);
      if (this.#overflow) this.#fresh.add(free);
      return free;
    }
    this.checkRoom(1, { atOnce: false });
    try {
      const block = this.#arena.allocate(Math.max(1, this.#blockBytes));
      if (this.#overflow) {
        this.#places.set(block, this.#places.size);
        this.#fresh.add(block);
      }
      return block;
    } catch (cause) {
      throw new SluiceError("context-full", "the KV cache cannot grow any further", {
        next: "Start a new conversation, or use a shorter context (-c).",
        cause,
      });
    }
  }

  /**
   * Find out whether there is memory for so many blocks, before the system ends a process that takes too much.
   *
   * @param atOnce whether all of them are about to be filled, in sweeps of many rows
   * @throws SluiceError `context-full` with the sums
   */
  checkRoom(blocks: number, { atOnce = true } = {}): void {
    const more = blocks - this.#free.length;
    const most = this.#overflow?.split.blocks ?? Number.POSITIVE_INFINITY;
    if (this.#places.size + Math.max(0, more) > most)
      throw new SluiceError(
        "context-full",
        `${blocks * BLOCK_POSITIONS} more tokens do not fit: --kv-ram has room for ${most * BLOCK_POSITIONS} in all`,
        { next: "Give --kv-ram more, or a longer context (-c) that it is shared out for." },
      );
    const needed = more * this.#blockBytes;
    const available = availableMemory();
    const spare = atOnce ? this.#spare : this.#blockBytes;
    if (needed <= 0 || needed + spare <= available) return;
    throw new SluiceError(
      "context-full",
      `${blocks * BLOCK_POSITIONS} more tokens take ${formatBytes(needed)} of KV cache, and computing them ${formatBytes(spare)}; ${formatBytes(available)} of memory are available`,
      { next: "Give it less to read, free some memory, or let the KV cache be smaller (--kv q8)." },
    );
  }

  /** Give a block back; of one that is shared this is one of the shares. */
  give(block: Address): void {
    const others = this.#shared.get(block);
    if (others === undefined) this.#free.push(block);
    else if (others === 1) this.#shared.delete(block);
    else this.#shared.set(block, others - 1);
  }

  /** Let one more sequence have a block. */
  share(block: Address): void {
    this.#shared.set(block, (this.#shared.get(block) ?? 0) + 1);
  }

  isShared(block: Address): boolean {
    return this.#shared.has(block);
  }

  /** Blocks that can still be taken, by the memory that is available and by the end of the engine's own. */
  room(): number {
    const bytes = Math.min(availableMemory(), MEMORY_BYTES - this.#arena.used) - this.#spare;
    const places = (this.#overflow?.split.blocks ?? Number.POSITIVE_INFINITY) - this.#places.size;
    return this.#free.length + Math.min(places, Math.max(0, Math.floor(bytes / (this.#blockBytes + 64))));
  }

  /** Place of a block in the file; undefined where nothing there is its own. */
  placeOf(block: Address): { readonly place: number; readonly fresh: boolean } {
    return { place: this.#places.get(block)!, fresh: this.#fresh.has(block) };
  }

  /** All of a block is where it belongs now. */
  written(block: Address): void {
    this.#fresh.delete(block);
  }

  /** The whole of a block: memory itself, or a copy of what is in memory and in the file. */
  bytesOf(block: Address): Uint8Array {
    const resident = this.#arena.bytes(block, this.#blockBytes);
    if (!this.#overflow) return resident;
    const whole = new Uint8Array(this.#blockBytes + this.#streamedBytes);
    whole.set(resident);
    const { place, fresh } = this.placeOf(block);
    if (!fresh)
      readPart(this.#overflow.file.descriptor, whole.subarray(this.#blockBytes), place * this.#streamedBytes);
    return whole;
  }

  /** Make these the bytes of a block. */
  setBytes(block: Address, whole: Uint8Array): void {
    this.#arena.bytes(block, this.#blockBytes).set(whole.subarray(0, this.#blockBytes));
    if (!this.#overflow) return;
    const { place } = this.placeOf(block);
    writePart(this.#overflow.file.descriptor, whole.subarray(this.#blockBytes), place * this.#streamedBytes);
    this.written(block);
  }

  /** Whether bytes of a block are memory itself. */
  get inMemory(): boolean {
    return this.#overflow === undefined;
  }

  /** A number that no block has had. */
  stamp(): number {
    return ++this.#stamps;
  }
}
