import { readFileSync } from "node:fs";
import { join } from "node:path";
import { places } from "./model-argument.ts";

/** What the environment says of the Hugging Face hub, by the variables of huggingface_hub. */
export interface HubSettings {
  readonly cacheDir: string;
  readonly endpoint: string | undefined;
  readonly token: string | undefined;
  readonly offline: boolean;
}

/** @param cacheDir of `places`; the token of `hf auth login` lies beside it */
export function hubSettings(env = process.env, cacheDir = places().huggingFace): HubSettings {
  const home = env["HF_HOME"] || join(cacheDir, "..");
  const token =
    env["HF_TOKEN"] ||
    env["HUGGING_FACE_HUB_TOKEN"] ||
    readToken(env["HF_TOKEN_PATH"] || join(home, "token"));
  return {
    cacheDir,
    endpoint: env["HF_ENDPOINT"]?.trim() || undefined,
    token: token?.trim() || undefined,
    offline: /^(1|on|yes|true)$/i.test(env["HF_HUB_OFFLINE"] ?? ""),
  };
}

function readToken(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
