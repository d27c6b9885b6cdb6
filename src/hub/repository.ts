import { SluiceError } from "../errors.ts";
import type { HubClient } from "./client.ts";
import type { HubFile } from "./types.ts";

/** What a repository has at the commit that `main` is. */
export interface Repository {
  /** As the hub writes it. */
  readonly name: string;
  /** 40 hexadecimal digits. */
  readonly commit: string;
  /** Sizes and digests are as the hub says: see `checkFile`. */
  readonly files: readonly HubFile[];
}

/** A thousand files each. */
const MOST_PAGES = 100;
/** Names of files are at most so long in all file systems. */
const MOST_NAME_BYTES = 255;

/**
 * Ask a hub what there is.
 *
 * @throws SluiceError `network`, `aborted`
 */
export async function readRepository(client: HubClient, repo: string): Promise<Repository> {
  // Its start takes a tenth of a second.
  const { listFiles, modelInfo } = await import("@huggingface/hub");
  const { endpoint: hubUrl, fetchWhole } = client;
  try {
    const { name, sha } = await modelInfo({
      name: repo,
      revision: "main",
      additionalFields: ["sha"],
      hubUrl,
      fetch: fetchWhole,
    });
    if (!/^[0-9a-f]{40}$/.test(sha)) throw new Error(`${JSON.stringify(sha)} is no commit`);
    const isSame = typeof name === "string" && name.toLowerCase() === repo.toLowerCase();
    let pages = 0;
    const fetchPage: typeof fetch = (input, init) => {
      if (pages++ === MOST_PAGES) throw new Error(`more than ${MOST_PAGES} pages of files`);
      return fetchWhole(input, init);
    };
    const files = new Map<string, HubFile>();
    for await (const entry of listFiles({ repo, revision: sha, recursive: true, hubUrl, fetch: fetchPage })) {
      if (entry.type !== "file" || typeof entry.path !== "string") continue;
      const { path, lfs, size, oid = "" } = entry;
      files.set(path, { path, bytes: lfs?.size ?? size, digest: lfs?.oid ?? oid });
    }
    return { name: isSame ? name : repo, commit: sha, files: [...files.values()] };
  } catch (error) {
    if (error instanceof SluiceError) throw error;
    throw new SluiceError(
      "network",
      `${hubUrl} answers something that is no list of files: ${(error as Error).message}`,
      {
        next: "HF_ENDPOINT must be a Hugging Face hub; behind some networks one has to log in first.",
        cause: error,
      },
    );
  }
}

/**
 * Check what a hub says of a file before it becomes a path on this disk.
 *
 * @throws SluiceError `network` for names that lead out of a folder or that no file can have, sizes and digests that are none
 */
export function checkFile(repo: string, { path, bytes, digest }: HubFile): void {
  const name = JSON.stringify(path);
  if (!isPlainPath(path)) throw suspicious(repo, `a file ${name}, whose name leads elsewhere`);
  if (!Number.isSafeInteger(bytes) || bytes < 0) throw suspicious(repo, `a file ${name} of ${bytes} bytes`);
  if (!/^([0-9a-f]{40}|[0-9a-f]{64})$/.test(digest))
    throw suspicious(repo, `a file ${name} with the checksum ${JSON.stringify(digest)}, which is none`);
}

/** Whether a path stays below its folder, on Windows too. */
function isPlainPath(path: string): boolean {
  return path.split("/").every((part) => {
    const isEmpty = /^\.{0,2}$/.test(part);
    return !isEmpty && !/[\\:\p{Cc}\p{Cs}]/u.test(part) && Buffer.byteLength(part) <= MOST_NAME_BYTES;
  });
}

function suspicious(repo: string, what: string): SluiceError {
  return new SluiceError("network", `hf:${repo} has ${what}`, {
    next: "Nothing was downloaded. Take another repository of this model.",
  });
}
