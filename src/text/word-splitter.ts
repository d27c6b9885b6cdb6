/** Cuts a text into pieces that together are the text. */
export type Splitter = (text: string) => Iterable<string>;

/** Pieces are the matches of an expression and what lies between them, as in llama.cpp's `unicode_regex_split`. */
export function matches(pattern: string): Splitter {
  const expression = new RegExp(pattern, "gv");
  return function* (text) {
    let from = 0;
    while (from < text.length) {
      // Other texts may have been searched in between.
      expression.lastIndex = from;
      const match = expression.exec(text);
      if (match === null) break;
      if (match.index > from) yield text.slice(from, match.index);
      yield match[0];
      from = match.index + match[0].length;
    }
    if (from < text.length) yield text.slice(from);
  };
}

const DIGITS = /\p{N}+/gu;

/**
 * Runs of digits are cut into groups of three from their right end, so that the first may have one or two; what lies
 * before a run stays with it. An expression for that looks ahead to the end of the run from each digit, which takes
 * quadratic time.
 */
export const thousands: Splitter = function* (text) {
  let from = 0;
  for (const { 0: run, index } of text.matchAll(DIGITS)) {
    // A digit outside of the basic plane has two code units.
    const digits = Array.from(run);
    let to = index;
    for (let at = 0; at < digits.length; at++) {
      to += digits[at].length;
      if ((digits.length - at - 1) % 3 !== 0) continue;
      yield text.slice(from, to);
      from = to;
    }
  }
  if (from < text.length) yield text.slice(from);
};

/** The words of a text: each step cuts the pieces of the one before it and sees nothing beyond a piece's ends. */
export function* splitWords(text: string, steps: readonly Splitter[], step = 0): Generator<string> {
  if (step === steps.length) yield text;
  else for (const piece of steps[step](text)) yield* splitWords(piece, steps, step + 1);
}
