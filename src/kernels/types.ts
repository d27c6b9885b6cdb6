import type { LowDtype, PackedDtype } from "../store/types.ts";

/** Byte address in the engine's memory. */
export type Address = number;

/** How keys and values are kept: as floats, or as int8 with a float16 scale for 32 of them. */
export type KvType = "f32" | "f16" | "q8";

/** The shape of one layer's attention and where its keys and values lie. */
export interface AttentionShape {
  readonly heads: number;
  readonly kvHeads: number;
  readonly headSize: number;
  readonly kvType: KvType;
  /** Positions in a KV block, a multiple of four. */
  readonly blockPositions: number;
  /** Where this layer's keys begin in a block; its values follow. See kv-layout.ts. */
  readonly layerOffset: number;
  /** Products of q and k are multiplied by this; absent: 1 / sqrt(headSize). */
  readonly scale?: number;
  /** Then they are soft-capped: s becomes cap × tanh(s / cap). */
  readonly cap?: number;
  /** Positions that a row attends to, its own the last of them; absent: all. */
  readonly window?: number;
}

/**
 * The arithmetic of a transformer, over one shared memory that both sides address by bytes. Activations are float32,
 * row-major, a row for each token; for products with quantized weights they are rounded to int16 first.
 *
 * `createReferenceKernels` is the plain, readable one that others are held against.
 */
export interface Kernels {
  /**
   * y = W x for some panels of an f32 matrix, for each row of x.
   *
   * @param panels (count, columns, 4) weights, see store/panel.ts
   * @param x (rows, columns)
   * @param y (rows, yStride): the panels' results, 4 × count values at the start of each row
   */
  matmulF32(
    panels: Address,
    count: number,
    columns: number,
    x: Address,
    rows: number,
    y: Address,
    yStride: number,
  ): void;

  /** The same for float16 and bfloat16 weights, (count, columns, 4) each. */
  matmulF16: Kernels["matmulF32"];
  matmulBf16: Kernels["matmulF32"];

  /**
   * Round activations to int16 with a scale per row and block of 32 columns: the largest value of the block becomes
   * 32512. Beside each scale goes the sum of its block's rounded values, for weights with a minimum. Rows [firstRow, endRow) and columns [firstColumn, endColumn) of them; cut at multiples of 4 rows and
   * 32 columns.
   *
   * Rows lie in tiles of four as long as there are four of them: for each four columns the four rows' values, for each
   * block the four rows' scales, then their sums. Rows that are left over lie one after the other.
   *
   * @param x (rows, columns)
   * @param q (rows, columns) int16
   * @param scales (rows, columns / 32, 2)
   */
  quantizeRows(
    x: Address,
    rows: number,
    columns: number,
    firstRow: number,
    endRow: number,
    firstColumn: number,
    endColumn: number,
    q: Address,
    scales: Address,
  ): void;

  /** y = W x for some panels of a q8 matrix, with x as `quantizeRows` leaves it. y as in `matmulF32`. */
  matmulQ8(
    panels: Address,
    count: number,
    columns: number,
    q: Address,
    scales: Address,
    rows: number,
    y: Address,
    yStride: number,
  ): void;

  /** The same for q4. */
  matmulQ4: Kernels["matmulQ8"];

  /** The same for q2 and q3, of up to three rows: they are not for prompts. */
  matmulLow(
    dtype: LowDtype,
    panels: Address,
    count: number,
    columns: number,
    q: Address,
    scales: Address,
    rows: number,
    y: Address,
    yStride: number,
  ): void;

  /**
   * The same for the packed dtypes.
   *
   * @param scratch `packedScratchBytes(columns)` of this thread alone
   */
  matmulPacked(
    dtype: PackedDtype,
    panels: Address,
    count: number,
    columns: number,
    q: Address,
    scales: Address,
    rows: number,
    y: Address,
    yStride: number,
    scratch: Address,
  ): void;

  /** RMSNorm (arXiv 1910.07467): y = x / sqrt(mean(x²) + epsilon) × weight. x, weight, y: (width). */
  rmsNorm(x: Address, weight: Address, width: number, epsilon: number, y: Address): void;

  /** LayerNorm (arXiv 1607.06450) without its bias: y = (x - mean) / sqrt(variance + epsilon) × weight. */
  layerNorm: Kernels["rmsNorm"];

  /** y += x. Both (count). */
  add(x: Address, y: Address, count: number): void;

  /**
   * SwiGLU (arXiv 2002.05202): y = silu(gate) × up, silu(v) = v / (1 + e^-v).
   *
   * @param gateUp gate and up in turn, four values each (gate 0-3, up 0-3, gate 4-7, …), as the panels of
   *   ffn_gate_up leave them
   * @param y (count)
   */
  swiglu(gateUp: Address, count: number, y: Address): void;

  /**
   * The same with gelu(gate). GELU (arXiv 1606.08415) by tanh: v / (1 + e^-2u), u = sqrt(2 / π) (v + 0.044715 v³), where
   * between -10 and 10 v and the result are rounded to float16: llama.cpp looks it up in a table of these, and so logits
   * can be held against its own.
   */
  geglu: Kernels["swiglu"];

  /** y = gelu(x). Both (count). */
  gelu(x: Address, count: number, y: Address): void;

  /** x *= factor. (count) */
  scale(x: Address, factor: number, count: number): void;

  /** Soft-capping (arXiv 2408.00118, section 2): x = cap × tanh(x / cap). (count) */
  softCap(x: Address, cap: number, count: number): void;

  /**
   * Rotate pairs of each head by the row's angles (RoPE, arXiv 2104.09864).
   *
   * @param x (heads, headSize), rotated in place
   * @param table (dimensions / 2, 2): cosine and sine of each pair's angle
   * @param dimensions leading values of a head that are rotated
   * @param neox whether the pairs are (i, i + dimensions / 2), not (2i, 2i + 1)
   */
  rope(x: Address, heads: number, headSize: number, table: Address, dimensions: number, neox: boolean): void;

  /** Copy one row's keys and values, (kvHeads, headSize) each, into the KV block that holds its position. */
  storeKv(keys: Address, values: Address, shape: AttentionShape, blocks: Address, position: number): void;

  /**
   * Causal attention of one row for heads [firstHead, endHead): softmax(q·K / sqrt(headSize)) V over positions
   * 0 … position, or the last `window` of these, block by block with a running maximum and sum (arXiv 1805.02867), so that
   * no more than a block of scores exists at a time.
   *
   * @param q (heads, headSize)
   * @param blocks table of uint32 addresses of the sequence's KV blocks
   * @param scratch `attentionScratchBytes` of this thread alone
   * @param out (heads, headSize)
   */
  attention(
    q: Address,
    shape: AttentionShape,
    blocks: Address,
    position: number,
    firstHead: number,
    endHead: number,
    scratch: Address,
    out: Address,
  ): void;
}

/**
 * Products of q8 weights with activations of 8 bits, a sixth of the exactness for most of twice the speed. Only for
 * tiles of four rows, and only where the processor and the engine have an exact dot product of bytes.
 */
export interface Int8Kernels {
  /**
   * Round rows [firstRow, endRow), whole tiles of four, to int8 with a scale per row and block of 32 columns.
   *
   * @param x (rows, columns)
   * @param q (rows, columns) int8: in each tile for each four columns the four rows' values
   * @param scales (rows, columns / 32): in each tile for each block the four rows'
   * @param sums likewise, int32: what the product has to begin with
   */
  quantizeTiles(
    x: Address,
    columns: number,
    firstRow: number,
    endRow: number,
    q: Address,
    scales: Address,
    sums: Address,
  ): void;

  /** y = W x for some panels of a q8 matrix and a multiple of four rows. y as in `Kernels.matmulF32`. */
  matmulQ8(
    panels: Address,
    count: number,
    columns: number,
    q: Address,
    scales: Address,
    sums: Address,
    rows: number,
    y: Address,
    yStride: number,
  ): void;
}
