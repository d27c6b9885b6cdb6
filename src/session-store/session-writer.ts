import { type FileHandle, open, rename, rm, stat } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { SluiceError } from "../errors.ts";
import { syncFolder } from "../store/atomic.ts";
import { errorCode, ioError } from "../store/io-error.ts";
import { removeTemporaries } from "./abandoned.ts";
import { encodeHead } from "./head.ts";
import { LogWriter, PREAMBLE_BYTES, preamble, writeFully } from "./log.ts";
import { nameOfFile } from "./names.ts";
import { addBlock } from "./pieces.ts";
import type { FileState, SavedSession } from "./saved-session.ts";
import type { SavedBlock, SessionContent } from "./types.ts";
import { whileLocked } from "./while-locked.ts";

/** Bytes of outdated records that are always put up with; above, no more than there are others. */
const TOLERATED_WASTE = 1 << 20;

interface WrittenBlock {
  /** Undefined for one that was not full. */
  readonly stamp: number | undefined;
  readonly offsets: readonly number[];
  readonly bytes: number;
}

/** What the file holds. */
interface Written {
  readonly state: FileState;
  /** Whether a save can be added: not after one that failed. */
  readonly whole: boolean;
  readonly blocks: readonly WrittenBlock[];
}

/**
 * Saves one conversation in one file, again and again. A save adds what is new: the blocks of KV cache that were not
 * full or not there last time, and the head. When outdated records have become more than half of the file, it is written
 * anew beside its place and moved there.
 *
 * Whenever the process dies, the file is as of the last save or the one before. Of two processes that save at the same
 * moment, one waits for the other, and then finds that it is no longer the file that it knew.
 */
export class SessionWriter {
  readonly path: string;
  #written: Written | undefined;

  /** @param path of a file that is not there yet, unless `adopt` follows */
  constructor(path: string) {
    this.path = path;
  }

  /**
   * Go on with a file that was read.
   *
   * @param stamps of the blocks in memory that were filled from it; none where they were not
   */
  adopt(saved: SavedSession, stamps: readonly number[]): void {
    const full = Math.floor(saved.head.ids.length / saved.head.model.kv.blockPositions);
    const blocks = stamps.map((stamp, index): WrittenBlock => {
      return {
        stamp: index < full ? stamp : undefined,
        offsets: saved.head.blocks[index],
        bytes: saved.blockSize(index),
      };
    });
    this.#written = { state: saved.state, whole: saved.whole, blocks };
  }

  /**
   * @param blocks of the ids of `content`; none to save only the text
   * @throws SluiceError `locked` where another process has written the file since, `no-space` or `io` where it cannot be
   *   written; what was saved before is there then
   */
  async save(content: SessionContent, blocks: readonly SavedBlock[]): Promise<void> {
    try {
      await whileLocked(this.path, async () => {
        const added = (await this.#isStillThere()) && (await this.#add(content, blocks));
        if (!added) await this.#writeAnew(content, blocks);
      });
    } catch (error) {
      throw ioError(
        error,
        "save the conversation in",
        this.path,
        "Make room, or change the permissions there.",
      );
    }
  }

  /** Whether the file is there, as this writer left it. */
  async #isStillThere(): Promise<boolean> {
    const found = await stat(this.path, { bigint: true }).catch((error) => {
      if (errorCode(error) === "ENOENT") return undefined;
      throw error;
    });
    if (found === undefined) return false;
    const state = this.#written?.state;
    if (found.ino === state?.inode && Number(found.size) === state.bytes) return true;
    throw new SluiceError(
      "locked",
      `the session ${nameOfFile(basename(this.path))} was written by another sluice in the meantime`,
      { next: "Save the conversation under another name." },
    );
  }

  /** Add to the file what is new; false where it is better written anew. */
  async #add(content: SessionContent, blocks: readonly SavedBlock[]): Promise<boolean> {
    const { state, whole, blocks: before } = this.#written!;
    const kept = before.filter(({ stamp }, index) => stamp !== undefined && stamp === blocks[index]?.stamp);
    const useful = kept.reduce((sum, { bytes }) => sum + bytes, PREAMBLE_BYTES);
    if (!whole || state.bytes - useful > useful + TOLERATED_WASTE) return false;
    const file = await open(this.path, "r+");
    try {
      this.#written = await addRecords(file, { state, content, blocks, before });
    } catch (error) {
      // What is left behind does no harm, but takes room.
      await file.truncate(state.bytes).catch(() => {});
      const bytes = await file.stat().then(
        ({ size }) => size,
        () => Number.NaN,
      );
      this.#written = { ...this.#written!, state: { ...state, bytes }, whole: false };
      throw error;
    } finally {
      await file.close();
    }
    return true;
  }

  async #writeAnew(content: SessionContent, blocks: readonly SavedBlock[]): Promise<void> {
    await removeTemporaries(this.path);
    const temporary = `${this.path}.${process.pid}.tmp`;
    try {
      const file = await open(temporary, "w", 0o600);
      let written: Written;
      try {
        await writeFully(file, preamble(), 0);
        const { ino: inode } = await file.stat({ bigint: true });
        const state = { inode, bytes: PREAMBLE_BYTES };
        written = await addRecords(file, { state, content, blocks, before: [] });
      } finally {
        await file.close();
      }
      await rename(temporary, this.path);
      syncFolder(dirname(this.path));
      this.#written = written;
    } catch (error) {
      await rm(temporary, { force: true }).catch(() => {});
      throw error;
    }
  }
}

/**
 * Write the blocks that are not there, make them durable, then the head that names them all.
 *
 * @param before what the file holds, up to `state`
 */
async function addRecords(
  file: FileHandle,
  {
    state,
    content,
    blocks,
    before,
  }: {
    readonly state: FileState;
    readonly content: SessionContent;
    readonly blocks: readonly SavedBlock[];
    readonly before: readonly WrittenBlock[];
  },
): Promise<Written> {
  const log = new LogWriter(file, state.bytes);
  const full = Math.floor(content.ids.length / content.model.kv.blockPositions);
  const written: WrittenBlock[] = [];
  for (const [index, block] of blocks.entries()) {
    const known = before[index];
    const { stamp } = block;
    if (known?.stamp === stamp) written.push(known);
    else {
      const start = log.end;
      // Getting at the bytes may take a read.
      const offsets = await addBlock(log, block.bytes);
      written.push({ stamp: index < full ? stamp : undefined, offsets, bytes: log.end - start });
    }
  }
  // A head that is on the disk before the blocks that it names would be a promise.
  if (log.end > state.bytes) await file.datasync();
  const offsets = written.map((block) => block.offsets);
  await log.add("HEAD", encodeHead(content, offsets));
  await file.sync();
  return { state: { inode: state.inode, bytes: log.end }, whole: true, blocks: written };
}
