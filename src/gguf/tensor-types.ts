/** One tensor type of ggml: `blockSize` values take `blockBytes` bytes. */
export interface TensorType {
  readonly name: string;
  readonly blockSize: number;
  readonly blockBytes: number;
}

/** Types by their number in the file, with ggml's own names and sizes (ggml.h, `enum ggml_type`; ggml.c, `type_traits`). */
const TYPES: Readonly<Record<number, readonly [name: string, blockSize: number, blockBytes: number]>> = {
  0: ["f32", 1, 4],
  1: ["f16", 1, 2],
  2: ["q4_0", 32, 18],
  3: ["q4_1", 32, 20],
  6: ["q5_0", 32, 22],
  7: ["q5_1", 32, 24],
  8: ["q8_0", 32, 34],
  9: ["q8_1", 32, 36],
  10: ["q2_K", 256, 84],
  11: ["q3_K", 256, 110],
  12: ["q4_K", 256, 144],
  13: ["q5_K", 256, 176],
  14: ["q6_K", 256, 210],
  15: ["q8_K", 256, 292],
  16: ["iq2_xxs", 256, 66],
  17: ["iq2_xs", 256, 74],
  18: ["iq3_xxs", 256, 98],
  19: ["iq1_s", 256, 50],
  20: ["iq4_nl", 32, 18],
  21: ["iq3_s", 256, 110],
  22: ["iq2_s", 256, 82],
  23: ["iq4_xs", 256, 136],
  24: ["i8", 1, 1],
  25: ["i16", 1, 2],
  26: ["i32", 1, 4],
  27: ["i64", 1, 8],
  28: ["f64", 1, 8],
  29: ["iq1_m", 256, 56],
  30: ["bf16", 1, 2],
  34: ["tq1_0", 256, 54],
  35: ["tq2_0", 256, 66],
  39: ["mxfp4", 32, 17],
  40: ["nvfp4", 64, 36],
  41: ["q1_0", 128, 18],
  42: ["q2_0", 64, 18],
};

/** Types that ggml no longer reads; files with them have to be made anew. */
const REMOVED: Readonly<Record<number, string>> = {
  4: "q4_2",
  5: "q4_3",
  31: "q4_0_4_4",
  32: "q4_0_4_8",
  33: "q4_0_8_8",
  36: "iq4_nl_4_4",
  37: "iq4_nl_4_8",
  38: "iq4_nl_8_8",
};

const TYPE_IDS = new Map(Object.entries(TYPES).map(([id, [name]]) => [name, Number(id)]));

/** The type of that number, or undefined where ggml has none (never had, or no longer). */
export function tensorType(id: number): TensorType | undefined {
  const entry = Object.hasOwn(TYPES, id) ? TYPES[id] : undefined;
  return entry && { name: entry[0], blockSize: entry[1], blockBytes: entry[2] };
}

/** Name of a type that ggml used to have. */
export function removedTensorType(id: number): string | undefined {
  return Object.hasOwn(REMOVED, id) ? REMOVED[id] : undefined;
}

/** Number of a type by its name; undefined for unknown names. */
export function tensorTypeId(name: string): number | undefined {
  return TYPE_IDS.get(name);
}
