import { blockFormat } from "../src/quant/index.ts";
import type { PackedDtype } from "../src/store/types.ts";

/** Bytes of a block where float16 scales begin, of sizes that weights have. */
const HALVES: Readonly<Record<PackedDtype, readonly number[]>> = {
  q4_1: [0, 2],
  q5_0: [0],
  q5_1: [0, 2],
  q4_K: [0, 2],
  q5_K: [0, 2],
  q6_K: [208],
  iq4_nl: [0],
  iq4_xs: [0],
  mxfp4: [],
};

/** Blocks of ggml for so many values: every bit is random but for the exponents of scales, some of them negative. */
export function randomBlocks(dtype: PackedDtype, values: number, random: () => number): Uint8Array {
  const { blockSize, blockBytes } = blockFormat(dtype);
  const bytes = Uint8Array.from({ length: (values / blockSize) * blockBytes }, () => random() * 256);
  for (let block = 0; block < bytes.length; block += blockBytes) {
    for (const at of HALVES[dtype])
      bytes[block + at + 1] = (random() < 0.2 ? 0x80 : 0) | (0x24 + random() * 8);
    if (dtype === "mxfp4") bytes[block] = 118 + random() * 8;
  }
  return bytes;
}
