import type { Architecture } from "../architecture.ts";
import { llama } from "./llama.ts";

/** Llama without rotation in every fourth layer, which no metadata tells (llama.cpp, src/models/smollm3.cpp). */
export const smollm3: Architecture = {
  ...llama,
  name: "smollm3",
  describe: () => ({ rope: (layer) => (layer + 1) % 4 !== 0 }),
};
