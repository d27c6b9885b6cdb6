import type { Architecture } from "../architecture.ts";
import { llama } from "./llama.ts";

/** Llama by another name: converters split its fused q, k and v (llama.cpp, src/models/internlm2.cpp). */
export const internlm2: Architecture = { ...llama, name: "internlm2" };
