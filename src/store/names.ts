/** Names of folders and files in the cache. All are legal on every file system, Windows' included. */
import { type Compression, DTYPES, type Dtype } from "./types.ts";

/** What an error about a damaged cache ends with. */
export const UNPACK_AGAIN = "Run `sluice unpack --force` on the model file to make it again.";

export const MANIFEST = "manifest.msgpack";
/** What an unfinished unpack has done so far: see `Journal`. */
export const JOURNAL = "unpack.msgpack";
export const TOKENIZER = "tokenizer.msgpack";
export const EMBEDDING = "embedding.bin";
export const OUTPUT = "output.bin";
/** Endings of files that are being written. */
export const PARTIAL = ".partial";
export const TEMPORARY = ".tmp";
/** Endings of folders while `--force` replaces one by another. */
export const REPLACEMENT = ".new";
export const REPLACED = ".old";

const OWN_FILE =
  /^(manifest\.msgpack|unpack\.msgpack|tokenizer\.msgpack|(embedding|output|layer-\d{2,}|shadow-q\d)\.bin)(\.partial|\.tmp)?$/;
/** Names of segments of prompts (see src/prompt-store), and of those that are being written. */
const PROMPT_FILE = /^prompt-[0-9a-f]{32}\.kv$/;
const PROMPT_TEMPORARY = /^prompt-[0-9a-f]{32}\.kv\.[0-9a-f]{8}\.tmp$/;
const OWN_FOLDER = new RegExp(`-[0-9a-f]{12}-(${DTYPES.join("|")})(-lz4)?(\\.new|\\.old)?$`);
/** Base names that Windows keeps for devices, whatever follows a dot. */
const DEVICE = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i;
const NAME_LENGTH = 80;

/** `layer-00.bin`, `layer-01.bin`, …: two digits, more where there are more layers. */
export function layerFileName(layer: number): string {
  return `layer-${String(layer).padStart(2, "0")}.bin`;
}

/** Whether sluice may have written a file of this name into a cache folder. */
export function isOwnFile(name: string): boolean {
  return OWN_FILE.test(name) || isPromptFile(name) || isPromptTemporary(name);
}

/** @param key of at least 16 bytes */
export function promptFileName(key: Uint8Array): string {
  return `prompt-${Buffer.from(key).toString("hex").slice(0, 32)}.kv`;
}

/** Whether a file has keys and values of a beginning of a prompt. */
export function isPromptFile(name: string): boolean {
  return PROMPT_FILE.test(name);
}

/** Whether a file is one that becomes such, or was to. */
export function isPromptTemporary(name: string): boolean {
  return PROMPT_TEMPORARY.test(name);
}

/** Whether a folder is named as sluice names cache folders. */
export function isOwnFolder(name: string): boolean {
  return OWN_FOLDER.test(name);
}

/** End of a cache folder's name: what tells it from the other caches of one source, and from other sources. */
export function cacheFolderSuffix(fingerprint: string, dtype: Dtype, compression: Compression): string {
  return `-${fingerprint.slice(0, 12)}-${dtype}${compression === "lz4" ? "-lz4" : ""}`;
}

/**
 * `<name>-<12 hex digits>-<dtype>[-lz4]`.
 *
 * @param name file name of the model; `.gguf` and what a file system may not like is taken out
 * @param fingerprint hexadecimal, of the source
 */
export function cacheFolderName(
  name: string,
  fingerprint: string,
  dtype: Dtype,
  compression: Compression,
): string {
  const plain = name
    .replace(/\.gguf$/i, "")
    .replace(/[^A-Za-z0-9._-]+/g, "-")
    .replace(/^[.-]+/, "")
    .slice(0, NAME_LENGTH)
    .replace(/[.-]+$/, "");
  const safe = DEVICE.test(plain) ? `_${plain}` : plain || "model";
  return safe + cacheFolderSuffix(fingerprint, dtype, compression);
}
