import { createHash } from "node:crypto";
import { rm, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import type { Model } from "../engine/model.ts";
import { type KeptPrompt, type PromptCache, SEGMENT_POSITIONS } from "../engine/prompt-cache.ts";
import { SluiceError } from "../errors.ts";
import { isFull, reasonOf } from "../store/io-error.ts";
import { promptFileName } from "../store/names.ts";
import { Room } from "./room.ts";
import { readSegment, segmentFileBytes, writeSegment } from "./segment-file.ts";

export interface PromptStoreOptions {
  /** Bytes of segments of all models beside this one at most; default: 2 GB. */
  readonly bytes?: number;
  /** A prompt that is computed in fewer milliseconds is not kept; default: 100, the blink of an eye. */
  readonly worthMs?: number;
}

/**
 * Beginnings of prompts on disk, in the folder of the unpacked model. A segment's name is a hash of the tokens up to its
 * end and of all else that its keys and values follow from: so whoever has a prompt knows the names of what may be kept of
 * it, prompts that begin alike have files in common, and any number of processes read and write without asking each other.
 *
 * Nothing here fails: where a segment cannot be read it is computed, and where it cannot be written it is not kept.
 */
export class PromptStore implements PromptCache {
  readonly #folder: string;
  readonly #seed: Uint8Array;
  readonly #bytes: number;
  readonly #worthMs: number;
  readonly #room: Room;
  /** Whether writing has failed: it is not tried again. */
  #failed = false;
  #trouble: SluiceError | undefined;

  constructor(
    { folder, kvKey }: Pick<Model, "folder" | "kvKey">,
    { bytes = 2e9, worthMs = 100 }: PromptStoreOptions = {},
  ) {
    this.#folder = folder;
    this.#seed = createHash("sha256").update(kvKey).digest();
    this.#bytes = bytes;
    this.#worthMs = worthMs;
    this.#room = new Room(folder, bytes);
  }

  /** Why beginnings are not kept any more, once; where nobody can do anything about it, nothing. */
  takeTrouble(): SluiceError | undefined {
    const trouble = this.#trouble;
    this.#trouble = undefined;
    return trouble;
  }

  open(prompt: readonly number[]): KeptPrompt {
    const keys = keysOf(prompt, this.#seed);
    const path = (segment: number) => join(this.#folder, promptFileName(keys[segment]));
    const opened = Date.now();
    // The end of a prompt is of no use without its beginning, so it counts as used before it.
    const touch = async (segment: number) => {
      const time = (opened - segment) / 1000;
      await utimes(path(segment), time, time).catch(() => {});
    };
    return {
      count: async () => {
        const most = Math.floor((prompt.length - 1) / SEGMENT_POSITIONS);
        let count = 0;
        while (count < most && (await exists(path(count)))) count++;
        return count;
      },
      read: async (segment, targets) => {
        try {
          const found = await readSegment(path(segment), keys[segment], targets);
          if (found === "sound") await touch(segment);
          if (found === "damaged") await rm(path(segment), { force: true });
          return found === "sound";
        } catch {
          return false;
        }
      },
      write: async (segment, blocks, ms) => {
        const bytes = segmentFileBytes(blocks.reduce((sum, block) => sum + block.length, 0));
        if (this.#failed || ms < this.#worthMs || (segment + 1) * bytes > this.#bytes) return;
        try {
          if (!(await exists(path(segment)))) {
            await this.#room.make(bytes);
            await writeSegment(path(segment), keys[segment], blocks);
          }
          await touch(segment);
        } catch (error) {
          this.#fail(error);
        }
      },
    };
  }

  #fail(error: unknown): void {
    this.#failed = true;
    const isSpace = error instanceof SluiceError || isFull(error);
    if (!isSpace) return;
    const why = error instanceof SluiceError ? error.message : reasonOf(error);
    this.#trouble = new SluiceError("no-space", `prompts are not kept in ${this.#folder}: ${why}`, {
      next: "Make room there, or turn it off: --prompt-cache 0.",
      cause: error,
    });
  }
}

/** The keys of the segments of a prompt: of each the hash of the key before it and of its tokens. */
function keysOf(prompt: readonly number[], seed: Uint8Array): Uint8Array[] {
  const keys: Uint8Array[] = [];
  for (let end = SEGMENT_POSITIONS; end <= prompt.length; end += SEGMENT_POSITIONS) {
    const tokens = Uint32Array.from(prompt.slice(end - SEGMENT_POSITIONS, end));
    keys.push(
      createHash("sha256")
        .update(keys.at(-1) ?? seed)
        .update(tokens)
        .digest(),
    );
  }
  return keys;
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
