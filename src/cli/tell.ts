import { note, type PrintStream } from "./note.ts";
import { printable } from "./printable.ts";
import { hangText } from "./wrap-text.ts";

/** As `note`; on a terminal lines end between words, and go on in the column that they stand in. */
export function tell(
  text: string,
  stream: PrintStream & { readonly columns?: number } = process.stderr,
): void {
  note(stream.isTTY && stream.columns ? hangText(printable(text), stream.columns).join("\n") : text, stream);
}
