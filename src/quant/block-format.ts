/** How one ggml tensor type packs its values, and how to get them back. */
export interface BlockFormat {
  /** ggml's name in lower case: `f32`, `q8_0`, … */
  readonly name: string;
  /** Values in a block. */
  readonly blockSize: number;
  /** Bytes of a block. */
  readonly blockBytes: number;
  /**
   * Turn blocks into float32, bit-identical to ggml's own conversion.
   *
   * @param source blocks, at least `count / blockSize * blockBytes` bytes, at any alignment
   * @param target at least `count` values
   * @param count values to convert, a multiple of `blockSize`
   */
  dequantize(source: Uint8Array, target: Float32Array, count: number): void;
}
