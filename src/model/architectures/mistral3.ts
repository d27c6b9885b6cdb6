import type { Architecture } from "../architecture.ts";
import { originalContext } from "../rope.ts";
import { llama } from "./llama.ts";

/** Llama whose attention may grow sharper with the position (llama.cpp, src/models/mistral3.cpp). */
export const mistral3: Architecture = {
  ...llama,
  name: "mistral3",
  describe(reader) {
    const scale = reader.number("attention.temperature_scale") || 0;
    const attentionScale = reader.number("attention.scale") || undefined;
    const positions = scale === 0 ? 0 : originalContext(reader);
    return {
      departures: {
        ...(attentionScale && { attentionScale }),
        ...(scale !== 0 && { temperature: { scale, positions } }),
      },
    };
  },
};
