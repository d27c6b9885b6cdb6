/**
 * Rows of q and k: Hugging Face has the first halves of all pairs that RoPE turns in front and the second halves behind,
 * GGUF of the Llama family has the two of each pair beside each other (llama.cpp, convert_hf_to_gguf.py, `permute`).
 */

/** A tensor whose rows are read in another order than they are stored in. */
export interface Reordered {
  /** Where it lies among all bytes. */
  readonly offset: number;
  readonly bytes: number;
  readonly rowBytes: number;
  /** Rows of a head, an even number. */
  readonly headSize: number;
}

type Read = (offset: number, target: Uint8Array) => void;

/**
 * Read bytes, those of the tensors in their new order.
 *
 * @param tensors by offset, none of which overlap
 * @param read gives bytes as they are stored
 */
export function readReordered(
  tensors: readonly Reordered[],
  offset: number,
  target: Uint8Array,
  read: Read,
): void {
  for (let done = 0; done < target.length; ) {
    const at = offset + done;
    const tensor = tensors.find((tensor) => at < tensor.offset + tensor.bytes);
    const rest = target.subarray(done);
    if (tensor === undefined || at < tensor.offset) {
      const piece = rest.subarray(0, tensor === undefined ? rest.length : tensor.offset - at);
      read(at, piece);
      done += piece.length;
    } else {
      const within = at - tensor.offset;
      const inRow = within % tensor.rowBytes;
      const piece = rest.subarray(0, tensor.rowBytes - inRow);
      read(
        tensor.offset +
          storedRow((within - inRow) / tensor.rowBytes, tensor.headSize) * tensor.rowBytes +
          inRow,
        piece,
      );
      done += piece.length;
    }
  }
}

/** Which stored row is the one of this number in GGUF's order. */
function storedRow(row: number, headSize: number): number {
  const inHead = row % headSize;
  return row - inHead + (inHead % 2) * (headSize / 2) + (inHead >> 1);
}
