/** Columns that share a scale, in weights and activations. The layout of panels is told in store/panel.ts. */
export const BLOCK: i32 = 32;
/** Bytes of a block of a q8 panel: eight quads of 16 bytes, then four float16 scales. */
export const Q8_BLOCK_BYTES: usize = 136;
export const Q8_QUADS_BYTES: usize = 128;
/** Of a q4 panel: four vectors of 16 bytes, then the scales. */
export const Q4_BLOCK_BYTES: usize = 72;
export const Q4_WEIGHTS_BYTES: usize = 64;
/** Rows of x that are worked on while a chunk of weights stays in the cache. A multiple of four. */
export const ROW_BLOCK: i32 = 32;

/** The largest magnitude of 32 float32. */
// @ts-expect-error: decorators of AssemblyScript
@inline
export function largestOfBlock(x: usize): f32 {
  let largest = f32x4.abs(v128.load(x));
  for (let offset: usize = 16; offset < 128; offset += 16)
    largest = f32x4.max(largest, f32x4.abs(v128.load(x + offset)));
  largest = f32x4.max(largest, v128.shuffle<f32>(largest, largest, 2, 3, 0, 1));
  largest = f32x4.max(largest, v128.shuffle<f32>(largest, largest, 1, 0, 3, 2));
  return f32x4.extract_lane(largest, 0);
}
