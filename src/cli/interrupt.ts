import { constants } from "node:os";
import { signalsAreRelayed } from "./second-process.ts";

/** A signal that comes again within this time, where the process before this one passes them on, is the same one. */
const ECHO_MS = 100;

const controller = new AbortController();

/** Fires at the first Ctrl-C or SIGTERM. Every command hands it to what it starts. */
export const interruptSignal: AbortSignal = controller.signal;

let onCtrlC: (() => void) | undefined;

/** Give Ctrl-C to one command (the chat stops an answer with it) until the function that is returned is called. */
export function takeCtrlC(handler: () => void): () => void {
  onCtrlC = handler;
  return () => {
    onCtrlC = undefined;
  };
}

/** Turn the signals into `interruptSignal`. A second one leaves at once, by way of the exit handlers. */
export function listenForInterrupts(): void {
  let last = -Infinity;
  for (const name of ["SIGINT", "SIGTERM"] as const) {
    process.on(name, () => {
      const now = performance.now();
      const echo = signalsAreRelayed && now - last < ECHO_MS;
      last = now;
      if (echo) return;
      if (name === "SIGINT" && onCtrlC) onCtrlC();
      else if (controller.signal.aborted) process.exit(signalExitCode(name));
      else controller.abort(name);
    });
  }
  process.on("SIGHUP", hangUp);
  if (process.platform !== "win32") process.on("SIGQUIT", () => endBy("SIGQUIT"));
}

/**
 * Leave because the terminal is gone, after the exit handlers. Not by `process.exit`: Node aborts with a core dump
 * where it finds a terminal that it cannot reset (node::ResetStdio).
 */
export function hangUp(): void {
  endBy("SIGHUP");
}

/** Die of a signal as if nobody had listened to it, but with the terminal as it was. */
function endBy(signal: "SIGHUP" | "SIGQUIT"): void {
  process.emit("exit", signalExitCode(signal));
  leaveRawMode();
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
}

/** Whoever only sent the signal still has the terminal, and wants to see what is typed there. */
function leaveRawMode(): void {
  try {
    if (process.stdin.isRaw) process.stdin.setRawMode(false);
  } catch {
    // It is gone.
  }
}

/** Exit code of a program that a signal ended: 130 for Ctrl-C. */
export function signalExitCode(name: "SIGINT" | "SIGTERM" | "SIGHUP" | "SIGQUIT" = "SIGINT"): number {
  return 128 + constants.signals[name];
}
