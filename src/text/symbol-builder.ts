import { decodeByteLevel } from "./byte-level.ts";
import { buildIndex, findText, type Texts } from "./token-texts.ts";
import { isHidden, TOKEN_BYTE, TOKEN_USER_DEFINED } from "./token-types.ts";

/**
 * The symbols of a byte-level BPE vocabulary: its tokens, with their texts decoded from the byte-level alphabet, and
 * texts that merge rules mention but that are no tokens (or none that plain text may become).
 */
export class SymbolBuilder {
  readonly #texts: Texts;
  readonly #index: Int32Array;
  readonly #extra = new Map<string, number>();

  constructor(stored: Texts, types: Uint8Array) {
    const { texts, encoded } = decodeTexts(stored, types);
    this.#texts = texts;
    // A token whose text plain text cannot spell, or that plain text must not become, is not to be found.
    this.#index = buildIndex(texts, types.length, (id) => encoded[id] === 1 && !isHidden(types[id])).index;
  }

  /** The symbol of `bytes[from, to)`, made where there is none yet. */
  symbol(bytes: Uint8Array, from: number, to: number): number {
    const token = findText(this.#texts, this.#index, bytes, from, to);
    if (token >= 0) return token;
    const key = Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString("latin1");
    const known = this.#extra.get(key);
    if (known !== undefined) return known;
    const symbol = this.#texts.offsets.length - 1 + this.#extra.size;
    this.#extra.set(key, symbol);
    return symbol;
  }

  /** All texts, and the hash table of those that are tokens. */
  finish(): { texts: Texts; index: Int32Array } {
    const { blob, offsets } = this.#texts;
    const extra = [...this.#extra.keys()].map((key) => Buffer.from(key, "latin1"));
    const ends = new Uint32Array(offsets.length + extra.length);
    ends.set(offsets);
    for (let i = 0; i < extra.length; i++)
      ends[offsets.length + i] = ends[offsets.length + i - 1] + extra[i].length;
    return { texts: { blob: Buffer.concat([blob, ...extra]), offsets: ends }, index: this.#index };
  }
}

/**
 * Token texts as the bytes that they stand for. Special tokens and texts of another alphabet stay as they are;
 * `encoded` is 1 for tokens whose bytes are what their text means in the byte-level alphabet.
 */
function decodeTexts(stored: Texts, types: Uint8Array): { texts: Texts; encoded: Uint8Array } {
  const blob = new Uint8Array(stored.blob.length);
  const offsets = new Uint32Array(types.length + 1);
  const encoded = new Uint8Array(types.length);
  for (let id = 0; id < types.length; id++) {
    const from = stored.offsets[id];
    const to = stored.offsets[id + 1];
    const verbatim = isHidden(types[id]) || types[id] === TOKEN_USER_DEFINED || types[id] === TOKEN_BYTE;
    const length = decodeByteLevel(stored.blob, from, to, blob.subarray(offsets[id]));
    // Only printable ASCII stands for itself in both readings.
    encoded[id] = length >= 0 && (!verbatim || length === to - from) ? 1 : 0;
    if (encoded[id] === 0) blob.set(stored.blob.subarray(from, to), offsets[id]);
    offsets[id + 1] = offsets[id] + (encoded[id] === 1 ? length : to - from);
  }
  return { texts: { blob: blob.slice(0, offsets[types.length]), offsets }, encoded };
}
