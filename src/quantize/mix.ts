/** Which tensor becomes what: as llama.cpp's `llama_model_quantize` chooses without an importance matrix. */
import type { TensorInfo } from "../gguf/types.ts";
import type { QuantizedType } from "./encode.ts";

interface Recipe {
  /** What most matrices become. */
  readonly type: QuantizedType;
  /** Whether some that matter more become q6_K: see `takesMoreBits`. */
  readonly mixed?: boolean;
  /** llama.cpp's number of it, `general.file_type` (llama.h, `llama_ftype`). */
  readonly fileType: number;
}

const RECIPES = {
  q8_0: { type: "q8_0", fileType: 7 },
  q4_0: { type: "q4_0", fileType: 2 },
  q4_1: { type: "q4_1", fileType: 3 },
  q5_0: { type: "q5_0", fileType: 8 },
  q5_1: { type: "q5_1", fileType: 9 },
  q4_k: { type: "q4_K", fileType: 14 },
  q5_k: { type: "q5_K", fileType: 16 },
  q6_k: { type: "q6_K", fileType: 18 },
  q4_k_m: { type: "q4_K", mixed: true, fileType: 15 },
  q5_k_m: { type: "q5_K", mixed: true, fileType: 17 },
} as const satisfies Readonly<Record<string, Recipe>>;

export type RecipeName = keyof typeof RECIPES;
export const RECIPE_NAMES = Object.keys(RECIPES) as readonly RecipeName[];

export function fileType(recipe: RecipeName): number {
  return RECIPES[recipe].fileType;
}

/** Blocks that fit columns which do not divide by 256 (llama-quant.cpp, `tensor_type_fallback`). */
const FALLBACK: Readonly<Partial<Record<QuantizedType, QuantizedType>>> = {
  q4_K: "q5_0",
  q5_K: "q5_1",
  q6_K: "q8_0",
};

/**
 * The type that a tensor gets; vectors, norms and what routes experts stay as they are.
 *
 * @param layers of the model
 * @param tied whether the embedding is the output matrix too
 */
export function typeOf(
  recipe: RecipeName,
  { name, type, shape }: Pick<TensorInfo, "name" | "type" | "shape">,
  layers: number,
  tied: boolean,
): string {
  // As llama.cpp wants them, whatever they were.
  if (shape.length < 2) return "f32";
  if (!name.endsWith(".weight") || /norm|ffn_gate_inp/.test(name)) return type;
  const { type: usual, mixed }: Recipe = RECIPES[recipe];
  const isOutput = name === (tied ? "token_embd.weight" : "output.weight");
  let wanted: QuantizedType = usual;
  if (isOutput && usual !== "q8_0") wanted = "q6_K";
  if (mixed && takesMoreBits(name, layers)) wanted = "q6_K";
  const [columns] = shape;
  if (columns % 256 !== 0) wanted = FALLBACK[wanted] ?? wanted;
  return columns % 32 === 0 ? wanted : "f16";
}

/** Values and the way out of the feed-forward, in the first and last eighth of the layers and every third between. */
function takesMoreBits(name: string, layers: number): boolean {
  const found = /^blk\.(\d+)\.(attn_v|ffn_down)\.weight$/.exec(name);
  if (!found) return false;
  const layer = Number(found[1]);
  const eighth = Math.floor(layers / 8);
  return layer < eighth || layer >= Math.floor((7 * layers) / 8) || (layer - eighth) % 3 === 2;
}
