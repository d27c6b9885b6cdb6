/** Columns that share a scale, in weights and activations. The layout of panels is told in store/panel.ts. */
export const BLOCK: i32 = 32;
/** Bytes of a block of a q8 panel: eight quads of 16 bytes, then four float16 scales. */
export const Q8_BLOCK_BYTES: usize = 136;
export const Q8_QUADS_BYTES: usize = 128;
/** Rows of x that are worked on while a chunk of weights stays in the cache. A multiple of four. */
export const ROW_BLOCK: i32 = 32;
