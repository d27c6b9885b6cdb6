import { CommanderError } from "commander";
import { SluiceError } from "../errors.ts";
import { errorCode, ioError, limitAdvice, reasonOf } from "../store/io-error.ts";
import { withCommandName } from "./command-name.ts";
import { interruptSignal, signalExitCode } from "./interrupt.ts";
import { note } from "./note.ts";
import { printableLine } from "./printable.ts";
import { tell } from "./tell.ts";

/**
 * Exit codes: 0, 1 for a failure, 2 for a command line that makes no sense, 128 + signal for one that was stopped.
 * Prints what went wrong on stderr; the stack only with `--verbose` (of every command) or SLUICE_DEBUG.
 */
export function reportFailure(error: unknown, verbose: boolean): number {
  // Commander has already printed its message, or the help or version that was asked for.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  if (isBrokenPipe(error)) return 0;
  tell(failureLines(error).join("\n"));
  if (verbose && error instanceof Error) note(stack(error));
  const stopped = error instanceof SluiceError && error.code === "aborted";
  return stopped ? signalExitCode(interruptSignal.reason) : 1;
}

/**
 * What a user reads of an error: one line of what happened and, where there is one, one of what to do. Messages may
 * quote a model file, so they are made harmless, and cannot pass for lines of their own.
 */
export function failureLines(error: unknown): string[] {
  const told = error instanceof SluiceError ? error : systemFailure(error);
  if (told) {
    // Whoever wrapped an error may not know that it is a limit of the process that was hit.
    const limit = limitAdvice(told.cause);
    const next = limit === undefined || told.next?.includes(limit) ? told.next : limit;
    return [
      `sluice: ${printableLine(told.message)}`,
      ...(next ? [`  ${printableLine(withCommandName(next))}`] : []),
    ];
  }
  const message = error instanceof Error ? error.message : String(error);
  return [
    `sluice: unexpected error: ${printableLine(message.split("\n", 1)[0])}`,
    "  --verbose shows where it happened.",
  ];
}

/** An error of the operating system that nobody foresaw, in the user's words; undefined for any other. */
function systemFailure(error: unknown): SluiceError | undefined {
  if (!(error instanceof Error)) return undefined;
  const { syscall, path } = error as NodeJS.ErrnoException;
  // What is written by descriptor is the output: files are written by name, and whoever does it says which.
  if (syscall === "write" && path === undefined) {
    return new SluiceError("io", `the output could not be written: ${reasonOf(error)}`, {
      next: limitAdvice(error) ?? "Write it somewhere else, or make room there.",
      cause: error,
    });
  }
  if (syscall !== undefined && path !== undefined) return ioError(error, syscall, path, "Check the path.");
  const next = limitAdvice(error);
  return next === undefined ? undefined : new SluiceError("io", reasonOf(error), { next, cause: error });
}

/** Whoever read our output has seen enough (`| head`): the write fails with EPIPE, and that is no failure. */
export function isBrokenPipe(error: unknown): boolean {
  return errorCode(error) === "EPIPE";
}

/** The terminal was closed: what readline and stdout do with it then fails with EIO. */
export function isHangUp(error: unknown): boolean {
  return errorCode(error) === "EIO" && (process.stdin.isTTY || process.stdout.isTTY);
}

function stack(error: Error): string {
  const cause = error.cause instanceof Error ? `\ncaused by ${stack(error.cause)}` : "";
  return `${error.stack}${cause}`;
}
