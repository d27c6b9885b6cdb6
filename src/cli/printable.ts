/**
 * What must not reach a terminal from a model: control characters (C0 but line feed and tab, DEL, C1), which could move
 * the cursor, set the title or answer for the user, and the overrides of writing direction, which make text look like
 * other text (CVE-2021-42574).
 */
const CONTROL = /(?![\n\t])[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu;

/** Text of several lines, made harmless for a terminal: what is not to be printed appears as `\u{1b}`. */
export function printable(text: string): string {
  return text.replace(CONTROL, escapeCharacter);
}

/** As `printable`, and in one line: line feeds and tabs become `\n` and `\t`. */
export function printableLine(text: string): string {
  return printable(text).replaceAll("\n", "\\n").replaceAll("\t", "\\t");
}

/** JSON of a value, harmless for a terminal too: the same characters become `\u001b`, which reads back as they were. */
export function printableJson(value: unknown): string {
  return JSON.stringify(value, null, 2).replace(
    CONTROL,
    (character) => `\\u${hex(character).padStart(4, "0")}`,
  );
}

function escapeCharacter(character: string): string {
  return `\\u{${hex(character)}}`;
}

function hex(character: string): string {
  return character.charCodeAt(0).toString(16);
}
