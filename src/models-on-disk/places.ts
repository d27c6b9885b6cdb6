import { readFileSync } from "node:fs";
import { isAbsolute, join } from "node:path";

/** Folders in which other programs keep models; they need not be there. */
export interface Places {
  /** The Hugging Face cache: `models--ORG--REPO` in it. */
  readonly huggingFace: string;
  /** Ollama's stores: `manifests` and `blobs` in each. */
  readonly ollama: readonly string[];
  /** LM Studio's: `PUBLISHER/MODEL` in each. */
  readonly lmStudio: readonly string[];
}

/** Where these programs look themselves, by the environment and the home folder. */
export function modelPlaces({
  env,
  home,
}: {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly home: string;
}): Places {
  const expanded = (path: string) =>
    path === "~" || /^~[/\\]/.test(path) ? join(home, path.slice(1)) : path;
  const cache = env["XDG_CACHE_HOME"] ? expanded(env["XDG_CACHE_HOME"]) : join(home, ".cache");
  const hub = env["HF_HUB_CACHE"] || env["HUGGINGFACE_HUB_CACHE"];
  const hubHome = env["HF_HOME"] ? expanded(env["HF_HOME"]) : join(cache, "huggingface");
  return {
    huggingFace: hub ? expanded(hub) : join(hubHome, "hub"),
    ollama: env["OLLAMA_MODELS"]
      ? [expanded(env["OLLAMA_MODELS"])]
      : // The last one is where Ollama's service on Linux has its home.
        [join(home, ".ollama", "models"), "/usr/share/ollama/.ollama/models"],
    lmStudio: lmStudioHomes(home).map((folder) => join(folder, "models")),
  };
}

/** LM Studio notes where it has moved to. */
function lmStudioHomes(home: string): string[] {
  const usual = [join(home, ".lmstudio"), join(home, ".cache", "lm-studio")];
  try {
    const moved = readFileSync(join(home, ".lmstudio-home-pointer"), "utf8").trim();
    return isAbsolute(moved) && !usual.includes(moved) ? [moved, ...usual] : usual;
  } catch {
    return usual;
  }
}
