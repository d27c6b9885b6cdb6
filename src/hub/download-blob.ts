import { createHash, type Hash } from "node:crypto";
import { constants, mkdirSync, renameSync, rmSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { dirname } from "node:path";
import { SluiceError, throwIfAborted } from "../errors.ts";
import { ioError, isFull, isSystemError } from "../store/io-error.ts";
import type { Answer, HubClient } from "./client.ts";
import { cutOff } from "./refusal.ts";
import { checkInside, INCOMPLETE } from "./repo-folder.ts";
import type { HubFile } from "./types.ts";

const PIECE_BYTES = 1 << 20;

export interface BlobRequest {
  readonly url: string;
  readonly file: HubFile;
  /** Path of the blob; what has arrived is beside it until it is whole. */
  readonly blob: string;
  readonly signal: AbortSignal | undefined;
  /** Bytes that are there, of which in `check` so many were read again. */
  readonly onBytes: (phase: "check" | "download", bytes: number) => void;
}

/**
 * Download a file, going on where an earlier download stopped. It gets its name when all bytes are there and their digest
 * is the one that the hub lists. The hub's library has no part in this: it shows neither whether a range was respected
 * nor where a download broke off.
 *
 * @returns bytes that were received
 * @throws SluiceError `network` (after the file was removed where its digest is wrong), `no-space`, `io`, `aborted`
 */
export async function downloadBlob(client: HubClient, request: BlobRequest): Promise<number> {
  const { blob, file } = request;
  const partial = blob + INCOMPLETE;
  try {
    mkdirSync(dirname(blob), { recursive: true });
    checkInside(dirname(dirname(blob)), dirname(blob));
    // Absent on Windows, whatever the types say. A link would have something else overwritten.
    const noLink = (constants.O_NOFOLLOW as number | undefined) ?? 0;
    const handle = await open(partial, constants.O_RDWR | constants.O_CREAT | noLink, 0o666);
    let received: number;
    try {
      const download = new Download(client, request, handle);
      await download.readAgain();
      received = await download.receive();
      await handle.sync();
      if (download.digest() !== file.digest) {
        rmSync(partial);
        throw wrongDigest(file, download.digest());
      }
    } finally {
      await handle.close();
    }
    renameSync(partial, blob);
    return received;
  } catch (error) {
    if (!isSystemError(error)) throw error;
    const next = isFull(error)
      ? "Make room, then give the same command: it goes on with what has arrived."
      : "Check that you may write there; HF_HOME or HF_HUB_CACHE name another folder.";
    throw ioError(error, "write", partial, next);
  }
}

/** A file that is coming: its bytes on the disk from the start to `#have`, and their hash. */
class Download {
  readonly #client: HubClient;
  readonly #request: BlobRequest;
  readonly #handle: FileHandle;
  #hash: Hash;
  #digest: string | undefined;
  #have = 0;
  /** Most bytes that ever were there: only what goes beyond is progress. */
  #furthest = 0;

  constructor(client: HubClient, request: BlobRequest, handle: FileHandle) {
    this.#client = client;
    this.#request = request;
    this.#handle = handle;
    this.#hash = newHash(request.file);
  }

  /** Hexadecimal. */
  digest(): string {
    this.#digest ??= this.#hash.digest("hex");
    return this.#digest;
  }

  /** Hash what an earlier download has left. */
  async readAgain(): Promise<void> {
    const { file, signal, onBytes } = this.#request;
    const { size } = await this.#handle.stat();
    // No download of this file leaves more.
    if (size > file.bytes) return this.#restart();
    const piece = Buffer.allocUnsafe(PIECE_BYTES);
    while (this.#have < size) {
      throwIfAborted(signal);
      const { bytesRead } = await this.#handle.read(piece, 0, PIECE_BYTES, this.#have);
      if (bytesRead === 0) break;
      this.#hash.update(piece.subarray(0, bytesRead));
      this.#have += bytesRead;
      onBytes("check", this.#have);
    }
    this.#furthest = this.#have;
  }

  /** Ask until all bytes are there. @returns bytes that were received */
  async receive(): Promise<number> {
    const { url, file, signal } = this.#request;
    let received = 0;
    while (this.#have < file.bytes) {
      const range = this.#have > 0 ? { range: `bytes=${this.#have}-` } : {};
      const answer = await this.#client.open(url, { ...range, "accept-encoding": "identity" });
      try {
        await this.#goTo(answer);
        for await (const chunk of answer.chunks) {
          await this.#append(chunk);
          received += chunk.length;
        }
        throwIfAborted(signal);
        if (this.#have < file.bytes) await this.#cutOff(undefined);
      } catch (error) {
        throwIfAborted(signal);
        // Errors of the connection are none of the system: fetch wraps them.
        if (error instanceof SluiceError || isSystemError(error)) throw error;
        await this.#cutOff(error);
      } finally {
        await answer.cancel();
      }
    }
    return received;
  }

  /** Be where an answer begins. A server that ignores ranges sends everything. */
  async #goTo({ response }: Answer): Promise<void> {
    const { file } = this.#request;
    const { status, headers } = response;
    if (status === 416) throw wrongSize(file, headers.get("content-range") ?? "fewer bytes");
    const [, start, total] = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(headers.get("content-range") ?? "") ?? [];
    const length = headers.get("content-encoding") === null ? headers.get("content-length") : null;
    const all = status === 206 ? total : length;
    if (all && all !== "*" && Number(all) !== file.bytes) throw wrongSize(file, `${all} bytes`);
    if (status === 206 && Number(start) === this.#have) return;
    if (status === 206) throw wrongSize(file, `another range, ${headers.get("content-range")}`);
    await this.#restart();
  }

  async #append(chunk: Uint8Array): Promise<void> {
    const { file, onBytes } = this.#request;
    if (this.#have + chunk.length > file.bytes) throw wrongSize(file, "more");
    for (let done = 0; done < chunk.length; ) {
      const { bytesWritten } = await this.#handle.write(chunk, done, chunk.length - done, this.#have + done);
      done += bytesWritten;
    }
    this.#hash.update(chunk);
    this.#have += chunk.length;
    if (this.#have > this.#furthest) {
      this.#furthest = this.#have;
      this.#client.patience.progressed();
    }
    onBytes("download", this.#have);
  }

  async #restart(): Promise<void> {
    await this.#handle.truncate(0);
    this.#hash = newHash(this.#request.file);
    this.#have = 0;
    this.#request.onBytes("download", 0);
  }

  async #cutOff(error: unknown): Promise<void> {
    const { path, bytes } = this.#request.file;
    await this.#client.patience.failed(cutOff(error, path, this.#have, bytes));
  }
}

/** Git hashes a small file behind a header of its own. */
function newHash({ digest, bytes }: HubFile): Hash {
  return digest.length === 64 ? createHash("sha256") : createHash("sha1").update(`blob ${bytes}\0`);
}

function wrongDigest({ path, digest }: HubFile, found: string): SluiceError {
  return new SluiceError("network", `${path} is damaged: its checksum is ${found}, the hub lists ${digest}`, {
    next: "What was downloaded of it is removed: the same command begins anew.",
  });
}

function wrongSize({ path, bytes }: HubFile, what: string): SluiceError {
  return new SluiceError("network", `the hub lists ${path} with ${bytes} bytes, but sends ${what}`, {
    next: "What has arrived is kept. Try again later; if it stays so, take another repository.",
  });
}
