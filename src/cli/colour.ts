/** Colours, where the user wants them. */

/**
 * Whether a stream is a terminal that may be given colours: not where NO_COLOR, TERM=dumb or CI says otherwise
 * (https://no-color.org).
 */
export function isColourful(stream: { readonly isTTY?: boolean }): boolean {
  const { TERM, NO_COLOR, CI } = process.env;
  return stream.isTTY === true && TERM !== "dumb" && !NO_COLOR && !CI;
}

const STYLES = { dim: [2, 22], bold: [1, 22], question: ["1;36", "22;39"] } as const;

/** Text in a style, with the sequence at its end that takes the style away again. */
export function styled(style: keyof typeof STYLES, text: string): string {
  const [on, off] = STYLES[style];
  return text === "" ? "" : `\x1b[${on}m${text}\x1b[${off}m`;
}
