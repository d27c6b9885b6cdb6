import { isUtf8 } from "node:buffer";

/** Turns bytes that arrive in pieces into text; a character that is split over pieces is held back until whole. */
export class Utf8Stream {
  // A byte order mark is a character like any other here.
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });

  /** Text that is complete now. Bytes that no continuation can make valid become U+FFFD. */
  push(bytes: Uint8Array): string {
    return this.#decoder.decode(bytes, { stream: true });
  }

  /** What is left: U+FFFD for an unfinished character, else nothing. The stream is fresh afterwards. */
  end(): string {
    return this.#decoder.decode();
  }
}

/** Text of bytes; broken UTF-8 becomes U+FFFD, a byte order mark stays. */
export function decodeUtf8(bytes: Uint8Array): string {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}

/**
 * Bytes and the text that they spell, made to agree: byte lengths of characters add up to positions in `bytes`.
 *
 * Valid UTF-8 stays as it is. Elsewhere it follows llama.cpp (`unicode_cpt_from_utf8`): a byte that begins no
 * character becomes U+FFFD, an overlong form its shortest one, and a lone surrogate keeps its three bytes (in the
 * text it is U+FFFD, which has three bytes as well and the same character class).
 */
export function alignUtf8(bytes: Uint8Array): { bytes: Uint8Array; text: string } {
  if (isUtf8(bytes)) return { bytes, text: decodeUtf8(bytes) };
  const aligned: number[] = [];
  let text = "";
  for (let at = 0; at < bytes.length; ) {
    const length = characterLength(bytes, at);
    const point = length === 0 ? 0xfffd : codePoint(bytes, at, length);
    if (point >= 0xd800 && point <= 0xdfff) {
      aligned.push(...bytes.subarray(at, at + length));
      text += "\ufffd";
    } else {
      const character = String.fromCodePoint(point > 0x10ffff ? 0xfffd : point);
      aligned.push(...Buffer.from(character));
      text += character;
    }
    at += Math.max(1, length);
  }
  return { bytes: Uint8Array.from(aligned), text };
}

/** Bytes of the character at `at` by its lead byte, or 0 where it does not have its continuation bytes. */
function characterLength(bytes: Uint8Array, at: number): number {
  const length = leadLength(bytes[at]);
  for (let i = 1; i < length; i++) if ((bytes[at + i] & 0xc0) !== 0x80) return 0;
  return length;
}

function leadLength(lead: number): number {
  if (lead < 0x80) return 1;
  if (lead < 0xc0) return 0;
  if (lead < 0xe0) return 2;
  if (lead < 0xf0) return 3;
  return lead < 0xf8 ? 4 : 0;
}

function codePoint(bytes: Uint8Array, at: number, length: number): number {
  let point = length === 1 ? bytes[at] : bytes[at] & (0x7f >> length);
  for (let i = 1; i < length; i++) point = (point << 6) | (bytes[at + i] & 0x3f);
  return point;
}
