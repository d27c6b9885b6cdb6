/**
 * Columns that text takes on a terminal. An estimate: terminals differ on rare characters. What is seen as one
 * character (a grapheme cluster, Unicode Standard Annex 29) counts as one: a letter with its accents, a family of emoji
 * held together by joiners, a flag. East Asian wide characters and emoji count two (Annex 11).
 */
export function textWidth(text: string): number {
  if (PLAIN.test(text)) return text.length;
  let width = 0;
  for (const grapheme of graphemes(text)) width += graphemeWidth(grapheme);
  return width;
}

/** The characters of a text as a reader sees them. */
export function graphemes(text: string): string[] {
  if (PLAIN.test(text)) return text.split("");
  return Array.from(segmenter.segment(text), ({ segment }) => segment);
}

const segmenter = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/** Columns of one grapheme. */
export function graphemeWidth(grapheme: string): number {
  if (PLAIN.test(grapheme)) return grapheme.length;
  if (grapheme.includes(EMOJI_STYLE) || FLAG.test(grapheme)) return 2;
  for (const character of grapheme) {
    if (!EMPTY.test(character)) return WIDE.test(character) ? 2 : 1;
  }
  return 0;
}

const PLAIN = /^[ -~]*$/;
/** Variation selector 16 makes a sign that may be text an emoji. */
const EMOJI_STYLE = "\ufe0f";
const FLAG = /^\p{Regional_Indicator}{2}$/u;
const EMPTY = /^[\p{Mark}\p{Cf}]$/u;
const WIDE =
  /^(?:[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]|\p{Emoji_Presentation})$/u;

/** Columns up to the next tab stop. */
export function tabWidth(column: number): number {
  return 8 - (column % 8);
}
