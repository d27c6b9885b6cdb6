import { SluiceError } from "../errors.ts";

/** What else people have under the name of a model, by how it begins: as text, or one of these bytes in hexadecimal. */
const FORMATS: readonly (readonly [begins: RegExp | readonly string[], what: string, next: string])[] = [
  [
    /^version https:\/\/git-lfs/,
    "a git-LFS pointer, not the model itself",
    "Fetch the file with `git lfs pull`, or download it from the model's page.",
  ],
  [
    /^\s*(<!doctype|<html|<head|<\?xml)/i,
    "an HTML or XML page, not a model",
    "The download gave an error or sign-in page; open the address in a browser and download the file itself.",
  ],
  [
    /^\s*\{\s*"(error|message|detail)"/i,
    "a JSON error message, not a model",
    "The download failed; open the file in a text editor to see why.",
  ],
  [
    /^.{8}\{/s,
    "a safetensors file",
    "Convert the model's folder with llama.cpp's convert_hf_to_gguf.py, or download a GGUF version of it.",
  ],
  [
    ["504b0304", "8002", "8003", "8004", "8005"],
    "a zip archive or a PyTorch checkpoint",
    "Unzip it if a .gguf file is inside; a PyTorch checkpoint has to be converted to GGUF first.",
  ],
  [["1f8b", "28b52ffd", "fd377a58", "377abcaf", "425a68"], "a compressed file", "Decompress it first."],
  [
    /^(lmgg|fmgg|tjgg|algg|ggml|ggmf|ggjt|ggla)/i,
    "a model of the old GGML/GGJT format, which GGUF replaced in 2023",
    "Download a GGUF version of the model.",
  ],
  [
    /^FUGG/,
    "a GGUF file with its bytes reversed (big-endian)",
    "Download the little-endian version of the model.",
  ],
];

/**
 * The error for a file that does not begin with GGUF: says what it is instead, where that can be told.
 *
 * @param head the first bytes of the file, 64 or so
 */
export function foreignFile(path: string, head: Uint8Array): SluiceError {
  if (head.length === 0) {
    return new SluiceError("bad-model", `${path} is empty (0 bytes)`, { next: "Download the model again." });
  }
  const text = Buffer.from(head).toString("latin1");
  const hex = Buffer.from(head).toString("hex");
  for (const [begins, what, next] of FORMATS) {
    const matches =
      begins instanceof RegExp ? begins.test(text) : begins.some((bytes) => hex.startsWith(bytes));
    if (matches) return new SluiceError("bad-model", `${path} is ${what}`, { next });
  }
  return new SluiceError(
    "bad-model",
    `${path} is not a GGUF file: it begins with 0x${hex.slice(0, 8)}, not "GGUF"`,
    {
      next: "Give the path of a .gguf file.",
    },
  );
}

/** The error for a version of GGUF other than 2 and 3. */
export function foreignVersion(path: string, version: number): SluiceError {
  // A big-endian file has the same magic, and 3 reads as 0x03000000.
  if (version !== 0 && (version & 0xffff) === 0) {
    return new SluiceError("unsupported", `${path} is a big-endian GGUF file (made for s390x and the like)`, {
      next: "Download the little-endian version of the model.",
    });
  }
  if (version === 1) {
    return new SluiceError("unsupported", `${path} is GGUF version 1, which was replaced in 2023`, {
      next: "Download a newer file of the model; sluice reads versions 2 and 3.",
    });
  }
  return new SluiceError("unsupported", `${path} is GGUF version ${version}; sluice reads versions 2 and 3`, {
    next: "If the file is newer than this sluice, update sluice; otherwise it is damaged.",
  });
}
