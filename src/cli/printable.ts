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

/**
 * JSON of a value, harmless for a terminal too: the same characters become `\u001b`, which reads back as they were.
 * Numbers that JSON lacks (integers beyond 2^53, infinities, NaN) become strings.
 */
export function printableJson(value: unknown, indent = 2): string {
  const json = JSON.stringify(value, (_, item) => jsonItem(item), indent);
  return json.replace(CONTROL, (character) => `\\u${hex(character).padStart(4, "0")}`);
}

function jsonItem(item: unknown): unknown {
  if (typeof item === "bigint") return Number.isSafeInteger(Number(item)) ? Number(item) : `${item}`;
  return typeof item === "number" && !Number.isFinite(item) ? `${item}` : item;
}

function escapeCharacter(character: string): string {
  return `\\u{${hex(character)}}`;
}

function hex(character: string): string {
  return character.charCodeAt(0).toString(16);
}
