import { SluiceError } from "../errors.ts";
import { bf16 } from "./bf16.ts";
import type { BlockFormat } from "./block-format.ts";
import { f16 } from "./f16.ts";
import { f32 } from "./f32.ts";
import { mxfp4, nvfp4 } from "./fp4.ts";
import { iq1_m, iq1_s } from "./iq1.ts";
import { iq2_s, iq2_xs, iq2_xxs } from "./iq2.ts";
import { iq3_s, iq3_xxs } from "./iq3.ts";
import { iq4_nl, iq4_xs } from "./iq4.ts";
import { q1_0 } from "./q1_0.ts";
import { q2_0 } from "./q2_0.ts";
import { q2_K } from "./q2_k.ts";
import { q3_K } from "./q3_k.ts";
import { q4_0 } from "./q4_0.ts";
import { q4_1 } from "./q4_1.ts";
import { q4_K } from "./q4_k.ts";
import { q5_0 } from "./q5_0.ts";
import { q5_1 } from "./q5_1.ts";
import { q5_K } from "./q5_k.ts";
import { q6_K } from "./q6_k.ts";
import { q8_0 } from "./q8_0.ts";
import { tq1_0, tq2_0 } from "./ternary.ts";

/** Every type of weights that ggml writes to files. */
const FORMATS = new Map(
  [
    [f32, f16, bf16],
    [q8_0, q4_0, q4_1, q5_0, q5_1],
    [q2_K, q3_K, q4_K, q5_K, q6_K],
    [iq1_s, iq1_m, iq2_xxs, iq2_xs, iq2_s, iq3_xxs, iq3_s, iq4_nl, iq4_xs],
    [tq1_0, tq2_0, mxfp4, nvfp4, q1_0, q2_0],
  ].flatMap((family) => family.map((format): [string, BlockFormat] => [format.name, format])),
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
