import type { LockHolder } from "../store/lock.ts";

/** Where a model comes from, and how. Nothing of it is read from the environment. */
export interface PullOptions {
  /** The Hugging Face cache: `models--ORG--REPO` in it. It is made where it is not there. */
  readonly cacheDir: string;
  /** The hub, without a path behind it. Default: https://huggingface.co */
  readonly endpoint?: string | undefined;
  /** Sent to the hub, and to no other host that it leads to. */
  readonly token?: string | undefined;
  /** Ask nobody: what is on the disk is all there is. */
  readonly offline?: boolean | undefined;
  /** What has arrived is kept. */
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((event: PullEvent) => void) | undefined;
  readonly patience?: PatienceOptions | undefined;
}

/** How long a hub is borne with. */
export interface PatienceOptions {
  /** Failures in a row without a byte in between that are answered with another try. Default: 5. */
  readonly tries?: number;
  /** Milliseconds before the first of them; each further one waits twice as long. Default: 1000. */
  readonly firstMs?: number;
  /** The longest wait, also of what a hub may ask for with Retry-After. Default: five minutes. */
  readonly longestMs?: number;
  /** Silence that counts as a cut connection, in milliseconds. Default: 30 seconds. */
  readonly stallMs?: number;
}

/** What a pull tells of itself. */
export type PullEvent =
  /** What is pulled; of `bytes`, `haveBytes` are here from an earlier pull. */
  | {
      readonly type: "start";
      readonly name: string;
      readonly files: number;
      readonly bytes: number;
      readonly haveBytes: number;
      readonly folder: string;
    }
  /** A file that is not here yet; of its bytes, so many are, and are read again to check them. */
  | { readonly type: "file"; readonly file: string; readonly bytes: number; readonly haveBytes: number }
  /** So many bytes of the file are read again or downloaded. `doneBytes` are those of all files. */
  | {
      readonly type: "bytes";
      readonly phase: "check" | "download";
      readonly fileBytes: number;
      readonly doneBytes: number;
    }
  /** Something went wrong that may pass: there is another try in so many milliseconds. */
  | { readonly type: "retry"; readonly reason: string; readonly ms: number }
  /** Another process downloads the same file. */
  | { readonly type: "waiting"; readonly holder: LockHolder };

export interface PullResult {
  /** `hf:org/repo[:quant]`, which means this model from now on. */
  readonly name: string;
  /** The file, of a split model its first part, or the folder of a model in safetensors. */
  readonly path: string;
  readonly files: number;
  /** Of all files. */
  readonly bytes: number;
  /** What came over the network. */
  readonly receivedBytes: number;
  /** Whether all of it was here already. */
  readonly reused: boolean;
  readonly ms: number;
}

/** A file of a repository. */
export interface HubFile {
  /** Within the repository, with `/`. */
  readonly path: string;
  readonly bytes: number;
  /** SHA-256 of a large file (64 hexadecimal digits), Git's SHA-1 of a small one (40): the name of its blob. */
  readonly digest: string;
}
