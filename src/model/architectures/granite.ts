import type { Architecture } from "../architecture.ts";
import { llama } from "./llama.ts";

/** Llama with multipliers on embeddings, residuals, attention and logits (llama.cpp, src/models/granite.cpp). */
export const granite: Architecture = {
  ...llama,
  name: "granite",
  describe(reader) {
    // 0 means none, as in llama.cpp.
    const embeddingScale = reader.number("embedding_scale");
    const residualScale = reader.number("residual_scale");
    const attentionScale = reader.number("attention.scale");
    const rotated = reader.boolean("rope.scaling.finetuned") ?? true;
    return {
      departures: {
        logitScale: 1 / reader.requiredPositive("logit_scale"),
        ...(embeddingScale && { embeddingScale }),
        ...(residualScale && { residualScale }),
        ...(attentionScale && { attentionScale }),
      },
      rope: () => rotated,
    };
  },
};
