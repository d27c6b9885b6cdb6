import { printable } from "./printable.ts";

/** What of a stream is needed to print on it. */
export interface PrintStream {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/** Text as a stream may get it: unchanged for a file or a pipe, but harmless for a terminal, whatever a model put there. */
export function textFor(stream: PrintStream, text: string): string {
  return stream.isTTY ? printable(text) : text;
}

/** Print text; see `textFor`. */
export function print(text: string, stream: PrintStream = process.stdout): void {
  stream.write(textFor(stream, text));
}

/** Print a remark of sluice's own on stderr, apart from the model's text on stdout. */
export function note(text: string, stream: PrintStream = process.stderr): void {
  print(`${text}\n`, stream);
}
