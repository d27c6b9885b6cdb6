import { constants } from "node:os";

const controller = new AbortController();

/** Fires at the first Ctrl-C, SIGTERM or SIGHUP. Every command hands it to what it starts. */
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
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(name, () => {
      if (name === "SIGINT" && onCtrlC) onCtrlC();
      else if (controller.signal.aborted) process.exit(signalExitCode(name));
      else controller.abort(name);
    });
  }
}

/** Exit code of a program that a signal ended: 130 for Ctrl-C. */
export function signalExitCode(name: "SIGINT" | "SIGTERM" | "SIGHUP" = "SIGINT"): number {
  return 128 + constants.signals[name];
}
