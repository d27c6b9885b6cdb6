import type { Architecture } from "../architecture.ts";
import { llama } from "./llama.ts";

/**
 * Llama with q, k and v in one tensor and gate and up in another, which are taken apart, and longrope. Its sliding window
 * counts for nothing, as in llama.cpp (src/models/phi3.cpp): converters wrote it for models that have none.
 */
export const phi3: Architecture = { ...llama, name: "phi3", ropeStyle: "neox", partialRope: true };
