import { isUtf8 } from "node:buffer";
import { decodeUtf8 } from "../text/utf8.ts";
import { printableLine } from "./printable.ts";

/** A token's piece of text in quotes; the bytes of one that is no whole text as `\xf0`. */
export function showPiece(bytes: Uint8Array): string {
  const text = isUtf8(bytes)
    ? printableLine(decodeUtf8(bytes).replace(/["\\]/g, "\\$&"))
    : Array.from(bytes, (byte) => `\\x${byte.toString(16).padStart(2, "0")}`).join("");
  return `"${text}"`;
}
