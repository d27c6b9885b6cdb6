import { textWidth } from "./text-width.ts";

const TAB = "    ";
const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/**
 * Lines of at most so many columns (two at least, for a wide character). They break at spaces, between wide
 * characters, and inside a word only where it is longer than a line. Tabs become four spaces.
 */
export function wrapText(text: string, columns: number): string[] {
  return text
    .replaceAll("\t", TAB)
    .split("\n")
    .flatMap((paragraph) => wrapParagraph(paragraph, Math.max(2, columns)));
}

/**
 * As `wrapText`, for lines of which some are rows of a list, as `name  what it is`: what does not fit goes on below the
 * beginning of the last column, or of the line where that would leave too little room.
 */
export function hangText(text: string, columns: number): string[] {
  return text.split("\n").flatMap((line) => {
    if (textWidth(line) <= columns) return [line];
    const ends = Array.from(line.matchAll(/(?: {2,}|^ )(?=\S)/g), ({ 0: gap, index }) => index + gap.length);
    const end = ends.findLast((end) => textWidth(line.slice(0, end)) <= columns * HANGS_UP_TO) ?? 0;
    const indent = textWidth(line.slice(0, end));
    const rows = wrapText(line.slice(end), columns - indent);
    return rows.map((row, index) => (index === 0 ? line.slice(0, end) : " ".repeat(indent)) + row);
  });
}

/** Part of a line that may stay empty before what hangs. */
const HANGS_UP_TO = 0.6;

/** A line of text in so many columns: what is too long ends in `…`, after a whole word unless that is far back. */
export function shortenText(text: string, columns: number): string {
  if (textWidth(text) <= columns) return text;
  const cut = cutText(text, columns - 1);
  const end = text[cut.length] === " " ? cut.length : cut.lastIndexOf(" ");
  return `${(end > columns / 2 ? cut.slice(0, end) : cut).trimEnd()}…`;
}

/** The longest beginning of a line of text that takes at most so many columns. Characters stay whole. */
export function cutText(text: string, columns: number): string {
  if (textWidth(text) <= columns) return text;
  let cut = "";
  let width = 0;
  for (const { segment } of graphemes.segment(text)) {
    width += textWidth(segment);
    if (width > columns) break;
    cut += segment;
  }
  return cut;
}

function wrapParagraph(paragraph: string, columns: number): string[] {
  const lines: string[] = [];
  let line = "";
  let width = 0;
  const put = (piece: string, shownWidth: number) => {
    if (width > 0 && width + shownWidth > columns) {
      lines.push(line.trimEnd());
      line = "";
      width = 0;
    }
    line += piece;
    width += textWidth(piece);
  };
  for (const word of breakable(paragraph)) {
    // Spaces may hang over the end of a line: nobody sees them there.
    const shownWidth = textWidth(word.trimEnd());
    if (shownWidth <= columns) put(word, shownWidth);
    else for (const { segment } of graphemes.segment(word)) put(segment, textWidth(segment));
  }
  lines.push(width > columns ? line.trimEnd() : line);
  return lines;
}

/** A text in pieces between which a line may end: words with the spaces behind them, and wide characters. */
function breakable(text: string): string[] {
  return text.match(BREAKABLE) ?? [];
}

const WIDE =
  "[\\u2e80-\\u303e\\u3041-\\ua4cf\\uac00-\\ud7a3\\uf900-\\ufaff\\uff00-\\uffe6\\u{20000}-\\u{3fffd}]";
/** A wide character takes what must not begin a line along (closing brackets, full stops). */
const CLOSING = "[\\u3001\\u3002\\uff0c\\uff0e\\uff01\\uff1f\\uff1a\\uff1b\\u300d\\u300f\\uff09]*";
const BREAKABLE = new RegExp(`${WIDE}\\p{M}*${CLOSING} *|(?:(?!${WIDE})[^ ])+ *| +`, "gu");
