import { halfToFloatTable } from "../quant/half.ts";
import { PACKED_FORMATS } from "./packed-panel.ts";
import type { PackedDtype } from "./types.ts";

/** Of ggml-common.h, `kvalues_iq4nl` and `kvalues_mxfp4`. */
const IQ4_LEVELS = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113];
const MXFP4_LEVELS = [0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12];

/** The integer that each code stands for. */
const LEVELS: Readonly<Record<PackedDtype, readonly number[]>> = {
  q4_1: countFrom(0, 16),
  q5_0: countFrom(-16, 32),
  q5_1: countFrom(0, 32),
  q4_K: countFrom(0, 16),
  q5_K: countFrom(0, 32),
  q6_K: countFrom(-32, 64),
  iq4_nl: IQ4_LEVELS,
  iq4_xs: IQ4_LEVELS,
  mxfp4: MXFP4_LEVELS,
};

/**
 * One row of a panel as float32, to the bit as src/quant gives it.
 *
 * @param panel of `panelBytes`
 * @param lane which of its rows, 0 to 3
 * @param target (columns)
 */
export function readPackedRow(
  dtype: PackedDtype,
  panel: Uint8Array,
  lane: number,
  target: Float32Array,
): void {
  const { columns, bytes } = PACKED_FORMATS[dtype];
  for (let first = 0, at = 0; first < target.length; first += columns, at += bytes)
    for (let group = 0; group < columns / 32; group++)
      readGroup(dtype, panel, at, lane, group, target, first + group * 32);
}

function readGroup(
  dtype: PackedDtype,
  panel: Uint8Array,
  stretch: number,
  lane: number,
  group: number,
  target: Float32Array,
  first: number,
): void {
  const { head, groupBytes } = PACKED_FORMATS[dtype];
  const place = stretch + head + group * groupBytes + lane * 4;
  const levels = LEVELS[dtype];
  for (let half = 0; half < 2; half++) {
    const { scale, minimum } = scaleAt(dtype, panel, stretch, lane, group, half);
    for (let i = 0; i < 16; i++) {
      const byte = place + (i >> 2) * 16 + (i % 4);
      let code = (panel[byte] >> (half * 4)) & 15;
      if (groupBytes === 80) code |= ((panel[place + 64 + (i % 4)] >> (half * 4 + (i >> 2))) & 1) << 4;
      if (groupBytes === 96) code |= ((panel[place + 64 + half * 16 + (i % 4)] >> ((i >> 2) * 2)) & 3) << 4;
      target[first + half * 16 + i] = levels[code] * scale + minimum;
    }
  }
}

/** What a half of a group is scaled with and what is added (-0 leaves even zeros as they are), in float64 and exact but where ggml rounds too. */
function scaleAt(
  dtype: PackedDtype,
  panel: Uint8Array,
  stretch: number,
  lane: number,
  group: number,
  half: number,
): { scale: number; minimum: number } {
  const floats = halfToFloatTable();
  const halfAt = (at: number) => floats[panel[at + lane * 2] | (panel[at + lane * 2 + 1] << 8)];
  const { groupBytes } = PACKED_FORMATS[dtype];
  switch (dtype) {
    case "q4_1":
    case "q5_1":
      return { scale: halfAt(stretch + groupBytes), minimum: halfAt(stretch + groupBytes + 8) };
    case "q5_0":
    case "iq4_nl":
      return { scale: halfAt(stretch + groupBytes), minimum: -0 };
    case "mxfp4":
      return { scale: 2 ** (panel[stretch + groupBytes + lane] - 128), minimum: -0 };
    case "q4_K":
    case "q5_K": {
      const pair = stretch + 16 + (group >> 1) * 12;
      const scale = sixBits(panel, pair, lane, (group & 1) * 2);
      const minimum = sixBits(panel, pair, lane, (group & 1) * 2 + 1);
      return { scale: halfAt(stretch) * scale, minimum: -(halfAt(stretch + 8) * minimum) };
    }
    case "q6_K": {
      const scale = (panel[stretch + 8 + group * 8 + half * 4 + lane] << 24) >> 24;
      return { scale: Math.fround(halfAt(stretch) * scale), minimum: -0 };
    }
    case "iq4_xs": {
      const scale = sixBits(panel, stretch + 8 + (group >> 2) * 12, lane, group & 3);
      return { scale: halfAt(stretch) * (scale - 32), minimum: -0 };
    }
  }
}

/** Number k of four in 12 bytes of four rows. */
function sixBits(panel: Uint8Array, at: number, lane: number, k: number): number {
  const byte = (index: number) => panel[at + index * 4 + lane];
  return k < 3 ? byte(k) & 63 : (byte(0) >> 6) | ((byte(1) >> 6) << 2) | ((byte(2) >> 6) << 4);
}

function countFrom(first: number, count: number): number[] {
  return Array.from({ length: count }, (_, i) => first + i);
}
