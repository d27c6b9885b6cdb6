import { SluiceError } from "../../errors.ts";
import type { Architecture } from "../architecture.ts";
import { internlm2 } from "./internlm2.ts";
import { llama } from "./llama.ts";
import { mistral3 } from "./mistral3.ts";
import { qwen2 } from "./qwen2.ts";
import { qwen3 } from "./qwen3.ts";
import { smollm3 } from "./smollm3.ts";

/** By name. */
export const ARCHITECTURES = new Map(
  [llama, smollm3, qwen2, qwen3, mistral3, internlm2].map((architecture) => [
    architecture.name,
    architecture,
  ]),
);

/** The architecture of that name; error `unsupported` for any other. */
export function findArchitecture(name: string, path: string): Architecture {
  const architecture = ARCHITECTURES.get(name);
  if (architecture) return architecture;
  const known = [...ARCHITECTURES.keys()].join(", ");
  throw new SluiceError(
    "unsupported",
    `${path}: the architecture ${JSON.stringify(name)} is not supported; sluice runs ${known}`,
    {
      next: "Use a model of one of these architectures.",
    },
  );
}
