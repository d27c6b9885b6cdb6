/**
 * The byte-level alphabet of GPT-2 (openai/gpt-2 `bytes_to_unicode`): every byte is written as one printable
 * character. Printable Latin-1 bytes stand for themselves, the others for U+0100, U+0101, … in their order.
 */

const CHARACTER_OF_BYTE = new Uint16Array(256);
const BYTE_OF_CHARACTER = new Int16Array(0x180).fill(-1);

let next = 0x100;
for (let byte = 0; byte < 256; byte++) {
  const printable = (byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte !== 0xad);
  CHARACTER_OF_BYTE[byte] = printable ? byte : next++;
  BYTE_OF_CHARACTER[CHARACTER_OF_BYTE[byte]] = byte;
}

/**
 * Turn the UTF-8 text `source[from, to)` of that alphabet into the bytes that it stands for.
 *
 * @returns how many bytes were written to `target`, or -1 where the text has a character of another alphabet.
 */
export function decodeByteLevel(source: Uint8Array, from: number, to: number, target: Uint8Array): number {
  let length = 0;
  for (let at = from; at < to; at++) {
    let character = source[at];
    // The whole alphabet lies below U+0180: one or two bytes of UTF-8.
    if (character >= 0x80) character = ((character & 0x1f) << 6) | (source[++at] & 0x3f);
    const byte = at < to && character < 0x180 ? BYTE_OF_CHARACTER[character] : -1;
    if (byte < 0) return -1;
    target[length++] = byte;
  }
  return length;
}
