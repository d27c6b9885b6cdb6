/**
 * What went wrong, in one word that never changes, for programs that react to it.
 *
 * - `bad-model`: the model file is broken, truncated or not what it says
 * - `unsupported`: a sound file that sluice cannot run (architecture, tensor type, tokenizer)
 * - `bad-cache`: an unpacked model is damaged or of another format version
 * - `bad-session`: a saved conversation is damaged or of another format version
 * - `no-space`: the disk is or would be full
 * - `locked`: another process is unpacking or downloading the same model
 * - `io`: the operating system refused a read or a write
 * - `network`: a hub cannot be reached, refuses, or sends something else than it said
 * - `context-full`: the conversation no longer fits the context
 * - `bad-input`: an argument, message file or template that makes no sense
 * - `aborted`: stopped by its AbortSignal
 */
export type ErrorCode =
  | "bad-model"
  | "unsupported"
  | "bad-cache"
  | "bad-session"
  | "no-space"
  | "locked"
  | "io"
  | "network"
  | "context-full"
  | "bad-input"
  | "aborted";

/** The only error that sluice throws on purpose: what happened, with the numbers involved, and what to do next. */
export class SluiceError extends Error {
  readonly code: ErrorCode;
  /** One sentence for the user: the next step. */
  readonly next: string | undefined;

  constructor(code: ErrorCode, message: string, options: { next?: string; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.name = "SluiceError";
    this.code = code;
    this.next = options.next;
  }
}

/** Throw a `SluiceError` of code `aborted` when the signal has fired. */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw new SluiceError("aborted", "stopped", { cause: signal.reason });
}
