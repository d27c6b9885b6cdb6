/** All kernels: one module over the engine's memory. */
export { attentionF16, attentionF32, attentionQ8 } from "./attention.as";
export { storeHalves } from "./attention-float.as";
export { storeKeyQ8, storeValueQ8 } from "./kv-store-q8.as";
export { geglu, gelu } from "./gelu.as";
export { matmulBf16, matmulF16, matmulF32 } from "./matmul-float.as";
export { matmulPacked } from "./matmul-packed.as";
export { matmulQ4, matvecQ4 } from "./matmul-q4.as";
export { matvecQ2, matvecQ3 } from "./matvec-low.as";
export { matmulQ8, matvecQ8 } from "./matmul-q8.as";
export {
  matvecIQ4_NL,
  matvecIQ4_XS,
  matvecMXFP4,
  matvecQ4_1,
  matvecQ4_K,
  matvecQ5_0,
  matvecQ5_1,
  matvecQ5_K,
  matvecQ6_K,
} from "./matvec-packed.as";
export { quantizeRows } from "./q16.as";
export { add, layerNorm, rmsNorm, rope, scale, swiglu } from "./rows.as";
export { softCap } from "./soft-cap.as";
