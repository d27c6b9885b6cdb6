/**
 * How the tensors of a file are cut into chunks: the one place that decides it. Unpacking writes by it, streaming
 * reads by it, and nothing of it is stored, for it follows from the list of tensors.
 *
 * A chunk is what one disk read brings: whole panels, of one tensor or of several small ones, at most
 * `CHUNK_BYTES` (but always at least one panel). Chunks tile the file. Every part of a chunk starts on a
 * multiple of `ALIGNMENT`, and so does the next chunk.
 */
import { PANEL_ROWS, panelBytes, panelCount } from "./panel.ts";
import type { StoredTensor } from "./types.ts";

/** Direct I/O wants its offsets and lengths to be multiples of the device's block; 4096 serves all. */
export const ALIGNMENT = 4096;
/** Long enough for a disk's full bandwidth, short enough that threads end a tensor together. */
export const CHUNK_BYTES = 1 << 20;

/** Panels of one tensor (or all values of one vector) inside a chunk. */
export interface ChunkPart {
  /** Index into the file's tensors. */
  readonly tensor: number;
  /** First row, and rows without the filling of the last panel. */
  readonly firstRow: number;
  readonly rows: number;
  /** From the start of the chunk, a multiple of `ALIGNMENT`. */
  readonly offset: number;
  readonly bytes: number;
}

export interface Chunk {
  /** Length when not compressed, a multiple of `ALIGNMENT`. */
  readonly bytes: number;
  readonly parts: readonly ChunkPart[];
}

export function alignUp(bytes: number): number {
  return Math.ceil(bytes / ALIGNMENT) * ALIGNMENT;
}

type Layable = Pick<StoredTensor, "kind" | "rows" | "columns" | "dtype">;

/** Chunks of a file that holds these tensors, in this order. */
export function layoutChunks(tensors: readonly Layable[]): Chunk[] {
  const chunks: Chunk[] = [];
  let parts: ChunkPart[] = [];
  let used = 0;
  const close = () => {
    if (used > 0) chunks.push({ bytes: used, parts });
    parts = [];
    used = 0;
  };
  for (const [tensor, { kind, rows, columns, dtype }] of tensors.entries()) {
    const unitBytes = kind === "vector" ? columns * 4 : panelBytes(dtype, columns);
    const units = kind === "vector" ? 1 : panelCount(rows);
    for (let unit = 0; unit < units; ) {
      if (used > 0 && used + unitBytes > CHUNK_BYTES) close();
      const fitting = Math.max(1, Math.floor((CHUNK_BYTES - used) / unitBytes));
      const taken = Math.min(fitting, units - unit);
      const firstRow = unit * PANEL_ROWS;
      parts.push({
        tensor,
        firstRow,
        rows: kind === "vector" ? 1 : Math.min(taken * PANEL_ROWS, rows - firstRow),
        offset: used,
        bytes: taken * unitBytes,
      });
      used = alignUp(used + taken * unitBytes);
      unit += taken;
    }
  }
  close();
  return chunks;
}
