import { SluiceError } from "../../errors.ts";
import type { Architecture } from "../architecture.ts";
import { llama } from "./llama.ts";
import { smollm3 } from "./smollm3.ts";

/** By name. */
export const ARCHITECTURES = new Map(
  [llama, smollm3].map((architecture) => [architecture.name, architecture]),
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
