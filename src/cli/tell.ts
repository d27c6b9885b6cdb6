import { note, type PrintStream } from "./note.ts";
import { printable } from "./printable.ts";
import { hangText } from "./wrap-text.ts";

type WideStream = PrintStream & { readonly columns?: number };

/** As `note`; on a terminal lines end between words, and go on in the column that they stand in. */
export function tell(text: string, stream: WideStream = process.stderr): void {
  note(toldText(text, stream), stream);
}

/** Text as `tell` prints it. */
export function toldText(text: string, stream: WideStream): string {
  const { isTTY, columns } = stream;
  return isTTY && columns ? hangText(printable(text), columns).join("\n") : text;
}
