import { createInterface } from "node:readline/promises";
import { interruptSignal } from "./interrupt.ts";
import { printable } from "./printable.ts";

/** Ask on the terminal; anything but a yes is a no, and so are Ctrl-C and Ctrl-D. */
export async function confirm(question: string): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const closed = new Promise<string>((resolve) => terminal.once("close", () => resolve("")));
    const answer = await Promise.race([
      terminal.question(printable(question), { signal: interruptSignal }),
      closed,
    ]);
    return /^y(es)?$/i.test(answer.trim());
  } catch {
    return false;
  } finally {
    terminal.close();
  }
}
