import { SluiceError } from "../errors.ts";
import { createBpeEncoder, tooMany } from "./bpe.ts";
import { type SpecialText, splitSpecial } from "./special-split.ts";
import { createSpmEncoder, unmarkSpaces } from "./spm.ts";
import { isHidden, TOKEN_BYTE, TOKEN_NORMAL, TOKEN_USER_DEFINED } from "./token-types.ts";
import type { TokenizerData } from "./tokenizer-data.ts";
import type { EncodeOptions, Tokenizer } from "./types.ts";
import { decodeUtf8 } from "./utf8.ts";

const NOTHING = new Uint8Array(0);
const SPACE = Uint8Array.of(0x20);

/**
 * A tokenizer over data from `buildTokenizerData` or `decodeTokenizerData`, giving the ids that llama.cpp gives.
 * One exception: plain text never becomes a control token, even where merges or scores would lead there.
 *
 * @example
 * const tokenizer = createTokenizer(decodeTokenizerData(readFileSync("tokenizer.msgpack")));
 * tokenizer.encode("<|im_end|>", { special: true }); // one id
 */
export function createTokenizer(data: TokenizerData): Tokenizer {
  const { texts, types } = data;
  const size = types.length;
  const spm = data.model === "spm";
  const encodeText = spm ? createSpmEncoder(data) : createBpeEncoder(data);
  const userDefined = specialTexts(data, (type) => type === TOKEN_USER_DEFINED);
  const special = specialTexts(data, (type) => type === TOKEN_USER_DEFINED || isHidden(type));
  const longest = longestText(data);
  const wordless = types.every(isHidden);

  function stored(id: number): Uint8Array {
    return texts.blob.subarray(texts.offsets[id], texts.offsets[id + 1]);
  }

  function encode(text: string | Uint8Array, options: EncodeOptions = {}): number[] {
    const ids: number[] = [];
    const { most = Infinity } = options;
    if (options.bos && data.addBos) ids.push(data.bos!);
    const shield = Buffer.from(options.shield ?? "");
    let spaceDue = data.addSpacePrefix;
    for (const part of splitSpecial(
      typeof text === "string" ? Buffer.from(text) : text,
      options.special ? special : userDefined,
    )) {
      if (typeof part === "number") {
        ids.push(part);
      } else {
        const plain = shield.length > 0 ? without(part, shield) : part;
        if (wordless && plain.length > 0) throw noWords();
        if (ids.length + plain.length / longest > most) throw tooMany(most);
        encodeText(spaceDue ? Buffer.concat([SPACE, plain]) : plain, ids, most);
      }
      spaceDue = data.addSpacePrefix && typeof part === "number";
    }
    if (options.bos && data.addEos) ids.push(data.eos!);
    return ids;
  }

  function bytes(id: number, showSpecial = false): Uint8Array {
    if (!Number.isInteger(id) || id < 0 || id >= size) return NOTHING;
    const type = types[id];
    if (isHidden(type)) return showSpecial ? stored(id) : NOTHING;
    if (type === TOKEN_USER_DEFINED) return stored(id);
    if (type === TOKEN_BYTE) return byteOf(stored(id));
    // Tokens marked as unused stand for nothing.
    if (type !== TOKEN_NORMAL) return NOTHING;
    return spm ? unmarkSpaces(stored(id)) : stored(id);
  }

  return {
    size,
    longest,
    bos: data.bos,
    eos: data.eos,
    addBos: data.addBos,
    controlTexts: special.filter(({ id }) => isHidden(types[id])).map(({ bytes }) => decodeUtf8(bytes)),
    endOfGeneration: new Set(data.endOfGeneration),
    encode,
    bytes,
    decode(ids, showSpecial) {
      return decodeUtf8(Buffer.concat(Array.from(ids, (id) => bytes(id, showSpecial))));
    },
  };
}

function noWords(): SluiceError {
  return new SluiceError("unsupported", "the model came without a vocabulary: no text becomes tokens", {
    next: "Put its tokenizer.json into the folder with the weights, and run again; ids can be given to `sluice logits`.",
  });
}

/** Bytes of the longest token: a text has no fewer tokens than its length divided by this. */
function longestText({ texts: { offsets } }: TokenizerData): number {
  let longest = 1;
  for (let id = 0; id + 1 < offsets.length; id++) longest = Math.max(longest, offsets[id + 1] - offsets[id]);
  return longest;
}

/** Longest first: where one is the beginning of another, the longer one counts. */
function specialTexts(data: TokenizerData, wanted: (type: number) => boolean): SpecialText[] {
  const { blob, offsets } = data.texts;
  const found: SpecialText[] = [];
  for (let id = 0; id < data.types.length; id++) {
    if (!wanted(data.types[id]) || offsets[id] === offsets[id + 1]) continue;
    const bytes = blob.subarray(offsets[id], offsets[id + 1]);
    found.push({ id, bytes, swallowSpace: data.swallowSpace.includes(id) });
  }
  return found.sort((a, b) => b.bytes.length - a.bytes.length);
}

/** Bytes without every occurrence of `gone`. */
function without(bytes: Uint8Array, gone: Buffer): Uint8Array {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const kept: Buffer[] = [];
  let from = 0;
  for (let at = text.indexOf(gone); at >= 0; at = text.indexOf(gone, from)) {
    kept.push(text.subarray(from, at));
    from = at + gone.length;
  }
  return from === 0 ? bytes : Buffer.concat([...kept, text.subarray(from)]);
}

/** The byte that `<0x0A>` names. */
function byteOf(text: Uint8Array): Uint8Array {
  const hex = /^<0x([0-9A-Fa-f]{2})>$/.exec(Buffer.from(text).toString("latin1"));
  return hex === null ? text : Uint8Array.of(Number.parseInt(hex[1], 16));
}
