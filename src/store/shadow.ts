/**
 * The shadow of a cache: a copy of its matrices in fewer bits, for guessing what the model will say. One file beside those
 * of the cache; what is in it follows from the manifest and from its name: the same tensors in the same order, panel for
 * panel, laid out as in a cache of this dtype.
 */
import { layoutChunks, tensorPanelBytes } from "./layout.ts";
import { columnsUnit } from "./panel.ts";
import type { Manifest, StoredFile, StoredTensor } from "./types.ts";

/** What the matrices of a shadow can be made of, the most exact first. */
export const SHADOW_DTYPES = ["q4", "q3", "q2"] as const;
export type ShadowDtype = (typeof SHADOW_DTYPES)[number];

export function shadowFileName(dtype: ShadowDtype): string {
  return `shadow-${dtype}.bin`;
}

/** The weights of a shadow, as a manifest has those of a cache; all of them lie in one file. */
export function shadowWeights(
  manifest: Pick<Manifest, "model" | "embedding" | "layers" | "output">,
  dtype: ShadowDtype,
): Pick<Manifest, "model" | "embedding" | "layers" | "output"> {
  let end = 0;
  const place = (file: StoredFile): StoredFile => {
    const tensors = file.tensors.map((tensor) => withFewerBits(tensor, dtype));
    const chunks = layoutChunks(tensors).map(({ bytes }) => {
      end += bytes;
      return { offset: end - bytes, stored: bytes, crc32: 0 };
    });
    return { name: shadowFileName(dtype), bytes: end, tensors, chunks };
  };
  const { model } = manifest;
  const layers = manifest.layers.map(place);
  const output = place(manifest.output);
  return {
    model,
    layers,
    output,
    embedding: model.tiedOutput ? place(manifest.embedding) : manifest.embedding,
  };
}

/** A tensor stays as it is where that takes no more bytes, or where its columns do not divide into blocks. */
function withFewerBits(tensor: StoredTensor, dtype: ShadowDtype): StoredTensor {
  if (tensor.kind === "vector" || tensor.columns % columnsUnit(dtype) !== 0) return tensor;
  const fewer = { ...tensor, dtype };
  return tensorPanelBytes(fewer) < tensorPanelBytes(tensor) ? fewer : tensor;
}
