/** Rows of ggml's types of 4 to 6 bits into panels: see packed-panel.ts. */
import { minimumOf, scaleOf } from "../quant/k-scales.ts";
import { PACKED_FORMATS, type PackedFormat } from "./packed-panel.ts";
import type { PackedDtype } from "./types.ts";

/** Where a row's stretch comes from and goes to. */
interface Stretch {
  readonly format: PackedFormat;
  readonly source: DataView;
  readonly target: DataView;
  /** Of the ggml block, and of the stretch in the panel. */
  from: number;
  to: number;
  /** Which of the panel's rows, 0 to 3. */
  lane: number;
}

/**
 * Arrange rows; no bit is lost.
 *
 * @param rows (count, columns) row-major blocks as ggml has them
 * @param panels room for all of them; what belongs to rows that are not there is left as it is
 */
export function packPackedPanels(
  dtype: PackedDtype,
  rows: Uint8Array,
  count: number,
  columns: number,
  panels: Uint8Array,
): void {
  const format = PACKED_FORMATS[dtype];
  const stretches = columns / format.columns;
  const stretch = { format, source: viewOf(rows), target: viewOf(panels), from: 0, to: 0, lane: 0 };
  const pack = PACKERS[dtype];
  for (let row = 0; row < count; row++) {
    stretch.lane = row % 4;
    for (let i = 0; i < stretches; i++) {
      stretch.to = (((row - stretch.lane) / 4) * stretches + i) * format.bytes;
      pack(stretch);
      stretch.from += format.bytes / 4;
    }
  }
}

const PACKERS: Readonly<Record<PackedDtype, (stretch: Stretch) => void>> = {
  q4_1(stretch) {
    copyHalves(stretch, [0, 2]);
    copyPairs(stretch, 4, 0);
  },
  q5_0(stretch) {
    copyHalves(stretch, [0]);
    spreadFifths(stretch, 2);
    copyPairs(stretch, 6, 0);
  },
  q5_1(stretch) {
    copyHalves(stretch, [0, 2]);
    spreadFifths(stretch, 4);
    copyPairs(stretch, 8, 0);
  },
  iq4_nl(stretch) {
    copyHalves(stretch, [0]);
    copyPairs(stretch, 2, 0);
  },
  mxfp4(stretch) {
    const { source, target, from, to, lane } = stretch;
    target.setUint8(to + 64 + lane, source.getUint8(from));
    copyPairs(stretch, 1, 0);
  },
  q4_K(stretch) {
    packKScales(stretch);
    for (let pair = 0; pair < 4; pair++) crossPairs(stretch, 16 + pair * 32, pair * 2, pair * 2 + 1);
  },
  q5_K(stretch) {
    packKScales(stretch);
    for (let pair = 0; pair < 4; pair++) crossPairs(stretch, 48 + pair * 32, pair * 2, pair * 2 + 1);
    for (let group = 0; group < 8; group++) gatherUpper(stretch, 16, group, group, 1);
  },
  q6_K(stretch) {
    const { source, target, from, to, lane } = stretch;
    target.setUint16(to + lane * 2, source.getUint16(from + 208, true), true);
    for (let i = 0; i < 16; i++) target.setUint8(to + 8 + i * 4 + lane, source.getUint8(from + 192 + i));
    for (let half = 0; half < 2; half++) {
      const group = half * 4;
      crossPairs(stretch, half * 64, group, group + 2);
      crossPairs(stretch, half * 64 + 32, group + 1, group + 3);
      for (let row = 0; row < 4; row++) gatherUpper(stretch, 128 + half * 32, group + row, row * 2, 2);
    }
  },
  iq4_xs(stretch) {
    const { source, target, from, to, lane } = stretch;
    target.setUint16(to + lane * 2, source.getUint16(from, true), true);
    const highs = source.getUint16(from + 2, true);
    const scale = (group: number) =>
      ((source.getUint8(from + 4 + (group >> 1)) >> (4 * (group & 1))) & 15) |
      (((highs >> (2 * group)) & 3) << 4);
    for (const first of [0, 4])
      storeSixBits(
        stretch,
        8 + first * 3,
        scale(first),
        scale(first + 1),
        scale(first + 2),
        scale(first + 3),
      );
    for (let group = 0; group < 8; group++) copyPairs(stretch, 8 + group * 16, group);
  },
};

/** float16 values at these bytes of the block, to the tail. */
function copyHalves({ format, source, target, from, to, lane }: Stretch, at: readonly number[]): void {
  for (const [index, byte] of at.entries()) {
    const place = to + format.head + format.groupBytes + index * 8 + lane * 2;
    target.setUint16(place, source.getUint16(from + byte, true), true);
  }
}

function groupAt({ format, to, lane }: Stretch, group: number): number {
  return to + format.head + group * format.groupBytes + lane * 4;
}

/** 16 bytes that have the first 16 columns of a group in their low halves and the others in their high halves. */
function copyPairs(stretch: Stretch, at: number, group: number): void {
  const { source, target, from } = stretch;
  const place = groupAt(stretch, group);
  for (let v = 0; v < 4; v++) target.setInt32(place + v * 16, source.getInt32(from + at + v * 4, true), true);
}

/** 32 bytes that have one group in their low halves and another in their high halves. */
function crossPairs(stretch: Stretch, at: number, low: number, high: number): void {
  const { source, target, from } = stretch;
  const lowAt = groupAt(stretch, low);
  const highAt = groupAt(stretch, high);
  for (let v = 0; v < 4; v++) {
    const first = source.getInt32(from + at + v * 4, true);
    const second = source.getInt32(from + at + v * 4 + 16, true);
    target.setInt32(lowAt + v * 16, (first & 0x0f0f0f0f) | ((second & 0x0f0f0f0f) << 4), true);
    target.setInt32(highAt + v * 16, ((first >>> 4) & 0x0f0f0f0f) | (second & 0xf0f0f0f0), true);
  }
}

/** The fifth bits of 32 columns, which are the bits of a uint32. */
function spreadFifths(stretch: Stretch, at: number): void {
  const { source, target, from } = stretch;
  const bits = source.getUint32(from + at, true);
  let spread = 0;
  for (let column = 0; column < 32; column++)
    spread |= ((bits >>> column) & 1) << ((column % 4) * 8 + (column >> 2));
  target.setInt32(groupAt(stretch, 0) + 64, spread, true);
}

/** The upper bits of a group, which are at this shift in 32 bytes. */
function gatherUpper(stretch: Stretch, at: number, group: number, shift: number, bits: 1 | 2): void {
  const { source, target, from } = stretch;
  const place = groupAt(stretch, group) + 64;
  const mask = bits === 1 ? 0x01010101 : 0x03030303;
  const inVector = 8 / bits;
  for (let vector = 0; vector < bits; vector++) {
    let gathered = 0;
    for (let quad = 0; quad < inVector; quad++) {
      const word = source.getInt32(from + at + (vector * inVector + quad) * 4, true);
      gathered |= ((word >>> shift) & mask) << (quad * bits);
    }
    target.setInt32(place + vector * 16, gathered, true);
  }
}

function packKScales(stretch: Stretch): void {
  const { source, target, from, to, lane } = stretch;
  target.setUint16(to + lane * 2, source.getUint16(from, true), true);
  target.setUint16(to + 8 + lane * 2, source.getUint16(from + 2, true), true);
  const scales = new Uint8Array(source.buffer, source.byteOffset + from + 4, 12);
  for (let pair = 0; pair < 4; pair++) {
    const [even, odd] = [pair * 2, pair * 2 + 1];
    storeSixBits(
      stretch,
      16 + pair * 12,
      scaleOf(scales, 0, even),
      minimumOf(scales, 0, even),
      scaleOf(scales, 0, odd),
      minimumOf(scales, 0, odd),
    );
  }
}

function storeSixBits(
  { target, to, lane }: Stretch,
  at: number,
  a: number,
  b: number,
  c: number,
  d: number,
): void {
  const place = to + at + lane;
  target.setUint8(place, a | ((d & 3) << 6));
  target.setUint8(place + 4, b | (((d >> 2) & 3) << 6));
  target.setUint8(place + 8, c | ((d >> 4) << 6));
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
