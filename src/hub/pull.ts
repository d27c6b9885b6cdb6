import { join } from "node:path";
import { SluiceError } from "../errors.ts";
import { formatBytes } from "../format-bytes.ts";
import { parseHubName } from "../models-on-disk/find-model.ts";
import { findHuggingFace, readMain } from "../models-on-disk/hugging-face.ts";
import { ioError, isSystemError } from "../store/io-error.ts";
import { acquireLock } from "../store/lock.ts";
import { mediumOf } from "../store/medium.ts";
import { HubClient } from "./client.ts";
import { downloadBlob } from "./download-blob.ts";
import { type ModelSet, modelSet } from "./model-set.ts";
import {
  blobPath,
  folderOf,
  INCOMPLETE,
  lockPath,
  placeFile,
  sizeOf,
  snapshotPath,
  writeMain,
} from "./repo-folder.ts";
import { checkFile, type Repository, readRepository } from "./repository.ts";
import type { HubFile, PullOptions, PullResult } from "./types.ts";

/** A model on its way to this disk. */
interface Pull {
  readonly client: HubClient;
  /** `org/repo` */
  readonly repo: string;
  readonly set: ModelSet;
  readonly files: readonly HubFile[];
  readonly commit: string;
  /** Of the repository in the cache. */
  readonly folder: string;
  readonly options: PullOptions;
}

/**
 * Download a model from a Hugging Face hub into its cache, where `hf:` names and other programs find it. Killed at any
 * moment, the same call goes on with what is there; a model is found only when it is whole.
 *
 * @param name `hf:org/repo[:quant]`; see `modelSet` for what is taken
 * @throws SluiceError `bad-input` for a name that fits nothing or several, with what there is; `network`, `no-space`, `io`,
 *   `locked`, `aborted`
 * @example
 * const { path } = await pullModel("hf:ggml-org/SmolLM3-3B-GGUF:Q8_0", { cacheDir: "/data/huggingface/hub" });
 */
export async function pullModel(name: string, options: PullOptions): Promise<PullResult> {
  const start = performance.now();
  const { repo, quant } = parseHubName(name);
  if (options.offline) return onDisk(name, repo, quant, options);
  const client = new HubClient(repo, options);
  const pull = choose(await readRepository(client, repo), client, quant, options);
  const reused = pull.files.every((file) => isPlaced(pull, file));
  let receivedBytes = 0;
  try {
    if (!reused) receivedBytes = await download(pull);
    await place(pull);
  } catch (error) {
    throw isSystemError(error) ? ioError(error, "write", pull.folder, OTHER_FOLDER) : stopped(error, pull);
  }
  const { set, files, folder, commit } = pull;
  const snapshot = snapshotPath(folder, commit);
  return {
    name: set.name,
    path: set.isFolder ? snapshot : join(snapshot, ...set.files[0].split("/")),
    files: files.length,
    bytes: sum(files.map(({ bytes }) => bytes)),
    receivedBytes,
    reused,
    ms: performance.now() - start,
  };
}

const OTHER_FOLDER = "HF_HOME or HF_HUB_CACHE name another folder.";

/** The model as it is here, where nobody is to be asked. */
function onDisk(name: string, repo: string, quant: string | undefined, options: PullOptions): PullResult {
  try {
    const path = findHuggingFace(options.cacheDir, repo, quant);
    return { name, path, files: 0, bytes: 0, receivedBytes: 0, reused: true, ms: 0 };
  } catch (cause) {
    throw new SluiceError("network", `${(cause as Error).message}; HF_HUB_OFFLINE says not to ask the hub`, {
      next: "Unset HF_HUB_OFFLINE to download it.",
      cause,
    });
  }
}

function choose(
  repository: Repository,
  client: HubClient,
  quant: string | undefined,
  options: PullOptions,
): Pull {
  const { name, commit } = repository;
  const byPath = new Map(repository.files.map((file) => [file.path, file]));
  const sizeOf = (paths: readonly string[]) => {
    const bytes = sum(paths.map((path) => byPath.get(path)!.bytes));
    return bytes >= 0 ? ` (${formatBytes(bytes)})` : "";
  };
  const set = modelSet(name, [...byPath.keys()], quant, sizeOf);
  const files = set.files.map((path) => byPath.get(path)!);
  for (const file of files) checkFile(name, file);
  return { client, repo: name, set, files, commit, folder: folderOf(options.cacheDir, name), options };
}

/** Get every blob that is not here. @returns bytes that were received */
async function download(pull: Pull): Promise<number> {
  const { set, files, folder, options } = pull;
  const bytes = sum(files.map((file) => file.bytes));
  const haveBytes = sum(files.map((file) => bytesHere(pull, file)));
  checkSpace(pull, bytes - haveBytes);
  options.onProgress?.({ type: "start", name: set.name, files: files.length, bytes, haveBytes, folder });
  let received = 0;
  let before = 0;
  for (const file of files) {
    if (!isHere(pull, file)) received += await downloadOne(pull, file, before);
    before += file.bytes;
  }
  return received;
}

async function downloadOne(pull: Pull, file: HubFile, before: number): Promise<number> {
  const { client, commit, folder, options } = pull;
  const { signal, onProgress } = options;
  const blob = blobPath(folder, file);
  const release = await acquireLock(lockPath(blob), {
    signal,
    doing: "downloading",
    onWait: (holder) => onProgress?.({ type: "waiting", holder }),
  });
  try {
    // Whoever was waited for has got it.
    if (isHere(pull, file)) return 0;
    const haveBytes = bytesHere(pull, file);
    onProgress?.({ type: "file", file: file.path, bytes: file.bytes, haveBytes });
    const path = file.path.split("/").map(encodeURIComponent).join("/");
    return await downloadBlob(client, {
      url: `${client.endpoint}/${pull.repo}/resolve/${commit}/${path}`,
      file,
      blob,
      signal,
      onBytes: (phase, fileBytes) =>
        onProgress?.({ type: "bytes", phase, fileBytes, doneBytes: before + fileBytes }),
    });
  } finally {
    release();
  }
}

/** Show the model to others: all of its files at once, and then that this commit is the one. */
async function place({ files, folder, commit, options }: Pull): Promise<void> {
  if (files.every((file) => isPlaced({ folder, commit }, file)) && readMain(folder) === commit) return;
  const release = await acquireLock(lockPath(blobPath(folder, { digest: "main" })), {
    signal: options.signal,
    doing: "downloading",
  });
  try {
    for (const file of files) placeFile(folder, commit, file);
    writeMain(folder, commit);
  } finally {
    release();
  }
}

function isPlaced({ folder, commit }: Pick<Pull, "folder" | "commit">, file: HubFile): boolean {
  return sizeOf(join(snapshotPath(folder, commit), ...file.path.split("/"))) === file.bytes;
}

function isHere(pull: Pull, file: HubFile): boolean {
  return isPlaced(pull, file) || sizeOf(blobPath(pull.folder, file)) === file.bytes;
}

/** How many bytes of a file need not be downloaded. */
function bytesHere(pull: Pull, file: HubFile): number {
  if (isHere(pull, file)) return file.bytes;
  const have = sizeOf(blobPath(pull.folder, file) + INCOMPLETE) ?? 0;
  return have > file.bytes ? 0 : have;
}

/** @throws SluiceError `no-space` where fewer bytes are free than needed */
function checkSpace({ set, folder }: Pull, needed: number): void {
  const { freeBytes } = mediumOf(folder);
  if (freeBytes >= needed) return;
  throw new SluiceError(
    "no-space",
    `not enough disk space: ${set.name} needs ${formatBytes(needed)}, ${folder} has ${formatBytes(freeBytes)} free`,
    { next: `Make room, or take a smaller quant. ${OTHER_FOLDER}` },
  );
}

/** What to say where a user has stopped it. */
function stopped(error: unknown, pull: Pull): unknown {
  if (!(error instanceof SluiceError) || error.code !== "aborted") return error;
  const kept = sum(pull.files.map((file) => bytesHere(pull, file)));
  const all = sum(pull.files.map(({ bytes }) => bytes));
  return new SluiceError("aborted", `stopped; ${formatBytes(kept)} of ${formatBytes(all)} are kept`, {
    next: `\`sluice pull ${pull.set.name}\` goes on from there.`,
    cause: error.cause,
  });
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
