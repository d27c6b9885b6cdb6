import { SluiceError } from "../errors.ts";
import { bf16 } from "./bf16.ts";
import type { BlockFormat } from "./block-format.ts";
import { f16 } from "./f16.ts";
import { f32 } from "./f32.ts";
import { q4_0 } from "./q4_0.ts";
import { q4_1 } from "./q4_1.ts";
import { q5_0 } from "./q5_0.ts";
import { q5_1 } from "./q5_1.ts";
import { q6_K } from "./q6_k.ts";
import { q8_0 } from "./q8_0.ts";

const FORMATS = new Map(
  [f32, f16, bf16, q8_0, q4_0, q4_1, q5_0, q5_1, q6_K].map((format) => [format.name, format]),
);

/** Names of the tensor types that can be dequantized. */
export const SUPPORTED_TYPES: readonly string[] = [...FORMATS.keys()];

/**
 * The format of a tensor type by ggml's name.
 *
 * @param tensor name of the tensor, for the error
 * @throws `unsupported` for any other type
 */
export function blockFormat(type: string, tensor?: string): BlockFormat {
  const format = FORMATS.get(type);
  if (format) return format;
  const subject = tensor === undefined ? "tensors" : `tensor ${JSON.stringify(tensor)}`;
  throw new SluiceError(
    "unsupported",
    `${subject} of type ${type} cannot be read; sluice reads ${SUPPORTED_TYPES.join(", ")}`,
    {
      next: "Use a file of the same model in one of these types (Q8_0 is the usual choice).",
    },
  );
}
