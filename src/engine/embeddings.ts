import { setImmediate } from "node:timers/promises";
import { SluiceError, throwIfAborted } from "../errors.ts";
import { openCache } from "../store/cache.ts";
import { RowReader } from "../stream/row-reader.ts";
import { type Projection, principalPlane } from "./projection.ts";

/** A token whose embedding points where a text's does. */
export interface NearToken {
  readonly id: number;
  readonly cosine: number;
  readonly dot: number;
}

export interface Embeddings {
  /** Values of a vector. */
  readonly width: number;
  /** For each text: length of its vector, and the tokens that are nearest by cosine, its own left out. */
  readonly texts: readonly { readonly norm: number; readonly nearest: readonly NearToken[] }[];
  /** (texts, texts) */
  readonly dot: readonly (readonly number[])[];
  readonly cosine: readonly (readonly number[])[];
  /** All texts in order, then the nearest tokens in order, in the plane in which they differ most. */
  readonly projection: Projection & { readonly tokens: readonly number[] };
}

interface CompareOptions {
  /** Tokens to find for each text. Default 5. */
  readonly nearest?: number;
  readonly signal?: AbortSignal;
  /** Called after each chunk of the table. */
  readonly onProgress?: (rows: number, total: number) => void;
}

/**
 * Compare the token embeddings of texts with each other and with the whole vocabulary. A text of several tokens is the
 * mean of theirs. The table streams by once, a chunk at a time; what is held is a vector for each text.
 *
 * @param folder an unpacked model
 * @param texts token ids of each
 * @throws SluiceError `bad-input` for a text without tokens or with ids that are none, `bad-cache`, `aborted`
 */
export async function compareEmbeddings(
  folder: string,
  texts: readonly (readonly number[])[],
  { nearest = 5, signal, onProgress }: CompareOptions = {},
): Promise<Embeddings> {
  const { manifest } = openCache(folder);
  const { width, vocabulary } = manifest.model;
  const table = new RowReader(folder, manifest.embedding);
  try {
    const vectors = texts.map((ids) => meanOf(table, ids, width, vocabulary));
    const norms = vectors.map((vector) => Math.sqrt(product(vector, vector)));
    const near = texts.map((): NearToken[] => []);
    const own = texts.map((ids) => new Set(ids));
    const visit = (id: number, values: Float32Array) => {
      const norm = Math.sqrt(product(values, values));
      for (const [index, vector] of vectors.entries()) {
        if (own[index].has(id)) continue;
        const dot = product(vector, values);
        keepNearest(near[index], nearest, { id, dot, cosine: cosineOf(dot, norm, norms[index]) });
      }
    };
    for (const rows of table.scan(visit)) {
      onProgress?.(rows, vocabulary);
      // Ctrl-C is heard between chunks.
      await setImmediate();
      throwIfAborted(signal);
    }
    const dot = vectors.map((a) => vectors.map((b) => product(a, b)));
    const tokens = [...new Set(near.flatMap((list) => list.map(({ id }) => id)))].sort((a, b) => a - b);
    const points = [...vectors, ...tokens.map((id) => meanOf(table, [id], width, vocabulary))];
    return {
      width,
      texts: near.map((list, index) => ({ norm: norms[index], nearest: list })),
      dot,
      cosine: dot.map((row, a) => row.map((value, b) => cosineOf(value, norms[a], norms[b]))),
      projection: { ...principalPlane(points), tokens },
    };
  } finally {
    table.close();
  }
}

function meanOf(table: RowReader, ids: readonly number[], width: number, vocabulary: number): Float64Array {
  if (ids.length === 0) throw new SluiceError("bad-input", "a text is empty: it has no tokens");
  const mean = new Float64Array(width);
  const row = new Float32Array(width);
  for (const id of ids) {
    if (!Number.isInteger(id) || id < 0 || id >= vocabulary)
      throw new SluiceError("bad-input", `token ${id} is not in the vocabulary of ${vocabulary}`);
    table.read(id, row);
    for (let i = 0; i < width; i++) mean[i] += row[i] / ids.length;
  }
  return mean;
}

function product(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}

/** A vector of nothing but zeros points nowhere: its cosine is 0. */
function cosineOf(dot: number, normA: number, normB: number): number {
  const norms = normA * normB;
  return norms > 0 ? Math.max(-1, Math.min(1, dot / norms)) : 0;
}

/** Keep the `most` nearest, the nearest first; of equals the lower id. */
function keepNearest(list: NearToken[], most: number, token: NearToken): void {
  if (list.length === most && !(most > 0 && token.cosine > list[most - 1].cosine)) return;
  let at = list.length;
  while (at > 0 && token.cosine > list[at - 1].cosine) at--;
  list.splice(at, 0, token);
  if (list.length > most) list.pop();
}
