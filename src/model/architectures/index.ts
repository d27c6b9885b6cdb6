import { SluiceError } from "../../errors.ts";
import type { Architecture } from "../architecture.ts";
import { gemma } from "./gemma.ts";
import { gemma2 } from "./gemma2.ts";
import { gemma3 } from "./gemma3.ts";
import { granite } from "./granite.ts";
import { internlm2 } from "./internlm2.ts";
import { llama } from "./llama.ts";
import { mistral3 } from "./mistral3.ts";
import { olmo2 } from "./olmo2.ts";
import { phi3 } from "./phi3.ts";
import { qwen2 } from "./qwen2.ts";
import { qwen3 } from "./qwen3.ts";
import { smollm3 } from "./smollm3.ts";
import { stablelm } from "./stablelm.ts";
import { starcoder2 } from "./starcoder2.ts";

/** By name. */
export const ARCHITECTURES = new Map(
  [
    ...[llama, smollm3, qwen2, qwen3, mistral3, gemma, gemma2, gemma3, phi3, granite],
    ...[olmo2, internlm2, stablelm, starcoder2],
  ].map((architecture) => [architecture.name, architecture]),
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
