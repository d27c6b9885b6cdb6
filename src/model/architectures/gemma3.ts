import type { Architecture } from "../architecture.ts";
import { localRope } from "../rope.ts";
import { gemma } from "./gemma.ts";
import { withPostNorms } from "./gemma2.ts";
import { qwen3 } from "./qwen3.ts";
import { readWindow } from "./window.ts";

/** llama.cpp's base of the layers with a window where no metadata tells it. */
const LOCAL_BASE = 10_000;
/** The one size that divides by its width in place of its heads' size: Gemma 3 27B. */
const LAYERS_27B = 62;

/**
 * Gemma with norms over every head of q and k and of what goes into the residual stream, and five layers with a window and
 * a rotation of their own to each that sees everything (llama.cpp, src/models/gemma3.cpp).
 */
export const gemma3: Architecture = {
  ...gemma,
  name: "gemma3",
  describe(reader, outline) {
    const { layers, width, heads } = outline;
    const logitCap = reader.number("final_logit_softcapping");
    const base = reader.positive("rope.freq_base_swa") ?? LOCAL_BASE;
    const window = readWindow(reader, outline, 6);
    return {
      departures: {
        ...gemma.describe!(reader, outline).departures,
        ...(layers === LAYERS_27B && { attentionScale: 1 / Math.sqrt(Math.floor(width / heads)) }),
        ...(logitCap && { logitCap }),
        ...(window.window && { localRope: localRope(reader, outline.rope, base) }),
      },
      ...window,
    };
  },
  layerTensors: (layer, width, headSize) => withPostNorms(qwen3.layerTensors(layer, width, headSize), width),
};
