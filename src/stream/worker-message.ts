import { type ErrorCode, SluiceError } from "../errors.ts";
import { type Control, Stopped } from "./control.ts";

/** A failure on its way from a thread to the main thread: errors lose their class on that way. */
export interface Failure {
  readonly code: ErrorCode;
  readonly message: string;
  readonly next?: string | undefined;
  readonly stack?: string | undefined;
}

/** What a thread tells the main thread: a sweep is done, or it has stopped (by itself, where there is a failure). */
export type WorkerMessage =
  | { readonly done: number }
  | { readonly stopped: true; readonly failure?: Failure | undefined };

/** Run a thread's work until it is stopped or fails; a failure stops the other threads too. */
export function untilStopped(control: Control, work: () => void): WorkerMessage {
  try {
    work();
    return { stopped: true };
  } catch (error) {
    if (error instanceof Stopped) return { stopped: true };
    control.stop();
    return { stopped: true, failure: toFailure(error) };
  }
}

export function toFailure(error: unknown): Failure {
  if (error instanceof SluiceError) return { code: error.code, message: error.message, next: error.next };
  const { message, stack } = error as Error;
  return {
    code: "io",
    message,
    stack,
    next: "This is an error in sluice: please report it with the output of --verbose.",
  };
}

export function fromFailure({ code, message, next, stack }: Failure): SluiceError {
  const error = new SluiceError(code, message, next === undefined ? {} : { next });
  if (stack !== undefined) error.stack = stack;
  return error;
}
