/**
 * Columns that text takes on a terminal. An estimate: terminals differ on rare characters. Combining marks and
 * joiners count nothing; East Asian wide characters and emoji count two (Unicode Standard Annex 11).
 */
export function textWidth(text: string): number {
  let width = 0;
  for (const character of text) {
    if (NARROW.test(character)) width += 1;
    else if (!EMPTY.test(character)) width += WIDE.test(character) ? 2 : 1;
  }
  return width;
}

const NARROW = /^[ -~]$/;
const EMPTY = /^[\p{Mark}\p{Cf}]$/u;
const WIDE =
  /^(?:[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]|\p{Emoji_Presentation})$/u;

/**
 * Column that the cursor is in after `text` was printed from `column` on, on a terminal of `columns`. After a line
 * that is full to the last column it is `columns`: a terminal goes to the next line only with the next character.
 */
export function columnAfter(text: string, column: number, columns: number): number {
  const lastLine = text.lastIndexOf("\n");
  let at = lastLine >= 0 ? 0 : column;
  for (const part of text.slice(lastLine + 1).split(/(\t)/)) {
    if (part === "\t") at = Math.min(columns - 1, at - (at % 8) + 8);
    else at += textWidth(part);
    if (at > columns) at = ((at - 1) % columns) + 1;
  }
  return at;
}
