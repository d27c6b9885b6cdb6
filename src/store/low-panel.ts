/**
 * Panels of 2 and 3 bits a weight, for guessing only (see shadow.ts): no file of a model has them.
 *
 * q2   for each block of 32 columns two vectors of 16 bytes: byte j of vector v has byte j of the quads 4v … 4v + 3 (as
 *      in q8) in each two bits, the first one in the lowest; then the four rows' float16 scales  columns / 32 × 40 bytes
 * q3   the same, and before the scales a vector of which bit n of byte j is the third bit of quad n's byte j
 *                                                                                               columns / 32 × 56 bytes
 *
 * A weight is (code - 1.5) × scale of its block, or (code - 3.5) × scale; a q4 weight (code - 8) × scale.
 */
import { f32ToF16, halfToFloatTable } from "../quant/half.ts";
import { BLOCK_BYTES, BLOCK_COLUMNS, PANEL_ROWS, WEIGHTS_BYTES } from "./panel.ts";
import type { LowDtype } from "./types.ts";

/** Codes from 0 to `last`, of which `middle` is zero; the scale that is best for Gaussian weights, in their deviation. */
const LEVELS = {
  q4: { last: 15, middle: 8, step: 0.335 },
  q3: { last: 7, middle: 3.5, step: 0.586 },
  q2: { last: 3, middle: 1.5, step: 0.996 },
} as const;
/** What a panel can be made of with few bits. */
export type FewBits = keyof typeof LEVELS;

const codes = new Uint8Array(BLOCK_COLUMNS);

/**
 * One row of a panel, each block with the scale of least squared error that a step from the best one for Gaussian weights
 * finds.
 *
 * @param row (columns)
 * @param panel its scales 2-byte aligned; every byte of this row is written
 * @param lane which of its rows, 0 to 3
 */
export function writeLowRow(dtype: FewBits, row: Float32Array, panel: Uint8Array, lane: number): void {
  const halves = new Uint16Array(panel.buffer, panel.byteOffset, panel.byteLength / 2);
  const floats = halfToFloatTable();
  const { last, middle, step } = LEVELS[dtype];
  const [weights, bytes, store] = [WEIGHTS_BYTES[dtype], BLOCK_BYTES[dtype], STORE[dtype]];
  for (let first = 0, block = 0; first < row.length; first += BLOCK_COLUMNS, block += bytes) {
    const half = f32ToF16(fitScale(row, first, last, middle, step));
    encode(row, first, last, middle, floats[half]);
    store(panel, block + lane * 4);
    halves[(block + weights) / 2 + lane] = half;
  }
}

/** The scale of least squared error for the codes that the usual scale makes. */
function fitScale(row: Float32Array, first: number, last: number, middle: number, step: number): number {
  let squares = 0;
  for (let i = first; i < first + BLOCK_COLUMNS; i++) squares += row[i] * row[i];
  const usual = step * Math.sqrt(squares / BLOCK_COLUMNS);
  const inverse = usual > 0 ? 1 / usual : 0;
  let products = 0;
  let lengths = 0;
  for (let i = first; i < first + BLOCK_COLUMNS; i++) {
    const place = row[i] * inverse + middle + 0.5;
    const level = (place < 0 ? 0 : place > last ? last : place | 0) - middle;
    products += row[i] * level;
    lengths += level * level;
  }
  return products > 0 ? products / lengths : usual;
}

/** Leaves the codes in `codes`. */
function encode(row: Float32Array, first: number, last: number, middle: number, scale: number): void {
  const inverse = scale > 0 ? 1 / scale : 0;
  for (let i = 0; i < BLOCK_COLUMNS; i++) {
    const place = row[first + i] * inverse + middle + 0.5;
    codes[i] = place < 0 ? 0 : place > last ? last : place | 0;
  }
}

/** The codes of a block to their bytes, `at` being the first of the row's. */
const STORE: Readonly<Record<FewBits, (panel: Uint8Array, at: number) => void>> = {
  q4(panel, at) {
    for (let i = 0; i < 16; i++)
      // Two's complement.
      panel[at + (i >> 2) * 16 + (i & 3)] = (codes[i] | (codes[i + 16] << 4)) ^ 0x88;
  },
  q3(panel, at) {
    STORE.q2(panel, at);
    for (let i = 0; i < 4; i++) {
      let third = 0;
      for (let quad = 0; quad < 8; quad++) third |= (codes[quad * 4 + i] >> 2) << quad;
      panel[at + 32 + i] = third;
    }
  },
  q2(panel, at) {
    for (let i = 0; i < 4; i++) {
      panel[at + i] = fourCodes(i);
      panel[at + 16 + i] = fourCodes(16 + i);
    }
  },
};

/** The lower two bits of four codes, a quad apart. */
function fourCodes(first: number): number {
  return (
    (codes[first] & 3) |
    ((codes[first + 4] & 3) << 2) |
    ((codes[first + 8] & 3) << 4) |
    ((codes[first + 12] & 3) << 6)
  );
}

/** One row of a panel as float32. @param target (columns) */
export function readLowRow(dtype: LowDtype, panel: Uint8Array, lane: number, target: Float32Array): void {
  const halves = new Uint16Array(panel.buffer, panel.byteOffset, panel.byteLength / 2);
  const floats = halfToFloatTable();
  const { middle } = LEVELS[dtype];
  for (let column = 0; column < target.length; column++) {
    const within = column % BLOCK_COLUMNS;
    const block = ((column - within) / BLOCK_COLUMNS) * BLOCK_BYTES[dtype];
    const byte = lane * PANEL_ROWS + (within & 3);
    const quad = within >> 2;
    let code = (panel[block + (quad >> 2) * 16 + byte] >> (2 * (quad & 3))) & 3;
    if (dtype === "q3") code |= ((panel[block + 32 + byte] >> quad) & 1) << 2;
    target[column] = (code - middle) * floats[halves[(block + WEIGHTS_BYTES[dtype]) / 2 + lane]];
  }
}
