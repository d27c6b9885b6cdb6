import { CommanderError } from "commander";
import { SluiceError } from "../errors.ts";
import { interruptSignal, signalExitCode } from "./interrupt.ts";

/**
 * Exit codes: 0, 1 for a failure, 2 for a command line that makes no sense, 128 + signal for one that was stopped.
 * Prints what went wrong on stderr; the stack only with `--verbose` or SLUICE_DEBUG.
 */
export function reportFailure(error: unknown, verbose: boolean): number {
  // Commander has already printed its message, or the help or version that was asked for.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  if (isBrokenPipe(error)) return 0;
  process.stderr.write(`${failureLines(error).join("\n")}\n`);
  if (verbose && error instanceof Error) process.stderr.write(`${stack(error)}\n`);
  const stopped = error instanceof SluiceError && error.code === "aborted";
  return stopped ? signalExitCode(interruptSignal.reason) : 1;
}

/** What a user reads of an error: one line of what happened and, where there is one, one of what to do. */
export function failureLines(error: unknown): string[] {
  if (error instanceof SluiceError) {
    return [`sluice: ${error.message}`, ...(error.next ? [`  ${error.next}`] : [])];
  }
  const message = error instanceof Error ? error.message : String(error);
  return [
    `sluice: unexpected error: ${message.split("\n", 1)[0]}`,
    "  Set SLUICE_DEBUG=1 to see where it happened.",
  ];
}

/** Whoever read our output has seen enough (`| head`): the write fails with EPIPE, and that is no failure. */
export function isBrokenPipe(error: unknown): boolean {
  return error instanceof Error && (error as NodeJS.ErrnoException).code === "EPIPE";
}

/** The terminal was closed: what readline and stdout do with it then fails with EIO. */
export function isHangUp(error: unknown): boolean {
  const code = error instanceof Error && (error as NodeJS.ErrnoException).code;
  return code === "EIO" && (process.stdin.isTTY || process.stdout.isTTY);
}

function stack(error: Error): string {
  const cause = error.cause instanceof Error ? `\ncaused by ${stack(error.cause)}` : "";
  return `${error.stack}${cause}`;
}
