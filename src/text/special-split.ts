/** A special token to look for in text. */
export interface SpecialText {
  readonly id: number;
  readonly bytes: Uint8Array;
  /** The white space after it belongs to it. */
  readonly swallowSpace: boolean;
}

/**
 * Cut text at special tokens: ids and the pieces of text between them, in order, without empty pieces.
 *
 * @param specials in the order of their importance (longest first): where texts overlap, the first one wins wherever
 * it stands, as in llama.cpp.
 */
export function splitSpecial(text: Uint8Array, specials: readonly SpecialText[]): (number | Uint8Array)[] {
  let parts: (number | Uint8Array)[] = text.length > 0 ? [text] : [];
  // Nearly no text holds any, so the whole is searched before its pieces are.
  const present = specials.filter((special) => view(text).includes(view(special.bytes)));
  for (const special of present) {
    parts = parts.flatMap((part) => (typeof part === "number" ? [part] : cut(part, special)));
  }
  return parts;
}

function cut(text: Uint8Array, special: SpecialText): (number | Uint8Array)[] {
  const parts: (number | Uint8Array)[] = [];
  const haystack = view(text);
  let from = 0;
  for (;;) {
    const at = haystack.indexOf(view(special.bytes), from);
    if (at < 0) break;
    if (at > from) parts.push(text.subarray(from, at));
    parts.push(special.id);
    from = at + special.bytes.length;
    if (special.swallowSpace) while (from < text.length && isSpace(text[from])) from++;
  }
  if (from < text.length) parts.push(text.subarray(from));
  return parts;
}

function view(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}

/** White space of ASCII. */
function isSpace(byte: number): boolean {
  return byte === 0x20 || (byte >= 0x09 && byte <= 0x0d);
}
