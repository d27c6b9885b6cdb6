import type { Architecture } from "../architecture.ts";
import { llama } from "./llama.ts";

/** Llama with embeddings times the root of their width and GELU in place of SiLU (llama.cpp, src/models/gemma.cpp). */
export const gemma: Architecture = {
  ...llama,
  name: "gemma",
  ropeStyle: "neox",
  describe: (_, { width }) => ({
    departures: { activation: "gelu", embeddingScale: Math.fround(Math.sqrt(width)) },
  }),
};
