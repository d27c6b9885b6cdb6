/** Single keys, as they are typed. */

const CTRL_C = "\x03";
const CTRL_Z = "\x1a";

export interface KeyHandlers {
  readonly onQuit: () => void;
  /** Another program gets the terminal until `onResume`. */
  readonly onSuspend: () => void;
  readonly onResume: () => void;
}

/** Whether keys can be heard: not where stdin is no terminal, or was read to its end. */
export function canHearKeys(): boolean {
  return process.stdin.isTTY === true && !process.stdin.destroyed && !process.stdin.readableEnded;
}

/**
 * Hear q, Ctrl-C and Ctrl-Z where that can be; Ctrl-C is the signal that it always is. Ctrl-Z and `fg` work in any case.
 *
 * @returns a function that leaves the terminal as it was
 */
export function listenForKeys({ onQuit, onSuspend, onResume }: KeyHandlers): () => void {
  const { stdin } = process;
  const heard = canHearKeys();
  const raw = (on: boolean) => {
    if (heard) stdin.setRawMode(on);
  };
  const onData = (keys: Buffer) => {
    for (const key of keys.toString("latin1")) {
      if (key === "q" || key === "Q") onQuit();
      else if (key === CTRL_C) process.kill(process.pid, "SIGINT");
      else if (key === CTRL_Z) leaveAndStop();
    }
  };
  const leaveAndStop = () => {
    onSuspend();
    // While the terminal is still ours: whoever changes its mode afterwards is stopped for that.
    raw(false);
    // As the terminal does it: to everyone who works for the same command.
    process.kill(0, "SIGTSTP");
  };
  const suspend = () => {
    onSuspend();
    process.kill(process.pid, "SIGSTOP");
  };
  const resume = () => {
    raw(true);
    onResume();
  };
  const canStop = process.platform !== "win32";
  raw(true);
  if (heard) stdin.on("data", onData).resume();
  if (canStop) process.on("SIGTSTP", suspend).on("SIGCONT", resume);
  return () => {
    if (canStop) process.removeListener("SIGTSTP", suspend).removeListener("SIGCONT", resume);
    if (!heard) return;
    stdin.removeListener("data", onData).pause();
    raw(false);
  };
}
