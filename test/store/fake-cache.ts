/** A small sound cache made by hand, independent of the unpacker. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { afterAll } from "vitest";
import { layoutChunks } from "../../src/store/layout.ts";
import { CACHE_FORMAT, writeManifest } from "../../src/store/manifest.ts";
import { EMBEDDING, layerFileName, OUTPUT, TOKENIZER } from "../../src/store/names.ts";
import type { Manifest, StoredFile, StoredTensor } from "../../src/store/types.ts";

export const FINGERPRINT = "0123456789abcdef".repeat(4);

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** A fresh folder that is removed after the tests of the file. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "sluice-test-"));
  folders.push(folder);
  return folder;
}

export function matrix(rows: number, columns: number, more: Partial<StoredTensor> = {}): StoredTensor {
  return {
    role: "attn_q",
    sources: [`m${rows}x${columns}.weight`],
    sourceTypes: ["f32"],
    kind: "matrix",
    rows,
    columns,
    dtype: "f32",
    ...more,
  };
}

export function vector(columns: number, role: StoredTensor["role"] = "attn_norm"): StoredTensor {
  return {
    role,
    sources: [`v${columns}.weight`],
    sourceTypes: ["f32"],
    kind: "vector",
    rows: 1,
    columns,
    dtype: "f32",
  };
}

/** Large enough that a layer takes several chunks. */
const FEED_FORWARD = 20_000;
const LAYER: readonly StoredTensor[] = [
  vector(8),
  ...(["attn_q", "attn_k", "attn_v", "attn_output"] as const).map((role) => matrix(8, 8, { role })),
  vector(8, "ffn_norm"),
  matrix(2 * FEED_FORWARD, 8, {
    role: "ffn_gate_up",
    sources: ["gate.weight", "up.weight"],
    sourceTypes: ["f32", "f32"],
  }),
  matrix(8, FEED_FORWARD, { role: "ffn_down" }),
];

/** Write `root/name` with two layers; every byte of its files follows from its position. */
export function makeCache(
  root: string,
  name = "fake-0123456789ab-f32",
): { folder: string; manifest: Manifest } {
  const folder = join(root, name);
  mkdirSync(folder, { recursive: true });
  const tokenizer = Buffer.from("no tokenizer");
  writeFileSync(join(folder, TOKENIZER), tokenizer);
  const manifest: Manifest = {
    format: CACHE_FORMAT,
    sluice: "0.0.0",
    source: { name: "fake.gguf", bytes: 1000, fingerprint: FINGERPRINT },
    model: {
      architecture: "llama",
      name: "fake",
      contextLength: 64,
      width: 8,
      headSize: 4,
      vocabulary: 10,
      normEpsilon: 1e-5,
      rope: { dimensions: 4, style: "norm", base: 10000, positionScale: 1 },
      layers: [1, 2].map(() => ({ heads: 2, kvHeads: 2, feedForward: FEED_FORWARD, rope: true })),
      tiedOutput: true,
    },
    dtype: "f32",
    compression: "none",
    tokenizer: { name: TOKENIZER, bytes: tokenizer.length, crc32: crc32(tokenizer) },
    embedding: makeFile(folder, EMBEDDING, [matrix(10, 8, { role: "token_embd" })]),
    layers: [0, 1].map((layer) => makeFile(folder, layerFileName(layer), LAYER)),
    output: makeFile(folder, OUTPUT, [vector(8, "output_norm")]),
    timing: {},
  };
  writeManifest(folder, manifest);
  return { folder, manifest };
}

function makeFile(folder: string, name: string, tensors: readonly StoredTensor[]): StoredFile {
  const layout = layoutChunks(tensors);
  const bytes = layout.reduce((sum, chunk) => sum + chunk.bytes, 0);
  const content = Uint8Array.from({ length: bytes }, (_, i) => (i * 7 + (i >> 8)) & 255);
  writeFileSync(join(folder, name), content);
  let offset = 0;
  const chunks = layout.map((chunk) => {
    const part = content.subarray(offset, offset + chunk.bytes);
    offset += chunk.bytes;
    return { offset: offset - chunk.bytes, stored: chunk.bytes, crc32: crc32(part) };
  });
  return { name, bytes, tensors, chunks };
}
