import { existsSync, readFileSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { SluiceError } from "../errors.ts";
import { filesBelow, listed } from "./model-files.ts";

/** A model in a store, by the path of its manifest: `HOST/NAMESPACE/MODEL/TAG`. */
interface Entry {
  readonly store: string;
  readonly key: string;
  /** As Ollama shows it: `qwen3:4b`. */
  readonly name: string;
}

const REGISTRY = "registry.ollama.ai";
const NAMESPACE = "library";
const TAG = "latest";
const MODEL_LAYER = "application/vnd.ollama.image.model";
const DIGEST = /^sha256[:-]([0-9a-f]{64})$/;
/** Manifests have a kilobyte. */
const MOST_BYTES = 1 << 20;

/**
 * A model in an Ollama store: the manifest of its name tells the blob, which is a GGUF file without that ending.
 *
 * @param stores folders with `manifests` and `blobs`
 * @param name `[host/][namespace/]model[:tag]`; without a tag `latest`, or the only one there is
 * @throws SluiceError `bad-input` with what there is, `bad-model` for a manifest that makes no sense, `unsupported` for
 *   one without a GGUF file, `io` for a blob that is missing
 */
export function findOllama(stores: readonly string[], name: string): string {
  const entries = stores.flatMap(storeEntries);
  const entry = choose(entries, name);
  if (entry !== undefined) return blobOf(entry);
  throw new SluiceError(
    "bad-input",
    `ollama:${name} is not in ${stores.join(" or ")}; there is ${listed(entries.map((entry) => entry.name))}`,
    { next: `\`ollama pull ${name}\` gets it; OLLAMA_MODELS names another store.` },
  );
}

/** What a blob of an Ollama store is called there, `qwen3-4b.gguf`; undefined for any other file. */
export function ollamaFileName(path: string): string | undefined {
  const digest = DIGEST.exec(basename(path))?.[1];
  const store = dirname(dirname(path));
  if (digest === undefined || basename(dirname(path)) !== "blobs" || !existsSync(join(store, "manifests")))
    return undefined;
  const names = storeEntries(store)
    .filter((entry) => digestOf(entry) === digest)
    .map(({ name }) => name)
    // A tag that says which one it is, where there is one.
    .sort((a, b) => Number(a.endsWith(`:${TAG}`)) - Number(b.endsWith(`:${TAG}`)));
  return names.length === 0 ? undefined : `${names[0].replaceAll(/[/:]/g, "-")}.gguf`;
}

function storeEntries(store: string): Entry[] {
  return filesBelow(join(store, "manifests"))
    .filter((key) => key.split("/").length === 4)
    .map((key) => ({ store, key, name: shownName(key) }));
}

function shownName(key: string): string {
  const [host, namespace, model, tag] = key.split("/");
  const place = host !== REGISTRY ? `${host}/${namespace}/` : namespace !== NAMESPACE ? `${namespace}/` : "";
  return `${place}${model}:${tag}`;
}

function choose(entries: readonly Entry[], name: string): Entry | undefined {
  const [, path, tag] = /^(.*?)(?::([^:/]*))?$/.exec(name)!;
  const parts = path.split("/");
  const prefix = [...[REGISTRY, NAMESPACE].slice(0, Math.max(0, 3 - parts.length)), ...parts]
    .join("/")
    .toLowerCase();
  const tags = entries.filter(({ key }) => key.toLowerCase().startsWith(`${prefix}/`));
  const exact = tags.find(({ key }) => basename(key).toLowerCase() === (tag || TAG).toLowerCase());
  if (exact !== undefined || tag) return exact;
  if (tags.length < 2) return tags[0];
  throw new SluiceError("bad-input", `ollama:${name} could be ${listed(tags.map((entry) => entry.name))}`, {
    next: `Give the tag too: ollama:${tags[0].name}`,
  });
}

function blobOf(entry: Entry): string {
  const digest = digestOf(entry);
  if (digest === undefined) {
    throw new SluiceError(
      "unsupported",
      `the manifest of ollama:${entry.name} names no GGUF model, or several`,
      {
        next: `It is ${join(entry.store, "manifests", entry.key)}. Another model is needed, or \`ollama pull ${entry.name}\` if it is damaged.`,
      },
    );
  }
  // Ollama had a colon in the name at first.
  const paths = [`sha256-${digest}`, `sha256:${digest}`].map((name) => join(entry.store, "blobs", name));
  const found = paths.find((path) => existsSync(path));
  if (found !== undefined) return found;
  throw new SluiceError("io", `the weights of ollama:${entry.name} are missing: ${paths[0]} does not exist`, {
    next: `\`ollama pull ${entry.name}\` gets them again.`,
  });
}

/** The SHA-256 of the one model that a manifest names. */
function digestOf({ store, key }: Entry): string | undefined {
  const layers = readLayers(join(store, "manifests", key));
  const models = layers.filter(({ mediaType }) => mediaType === MODEL_LAYER);
  return models.length === 1 ? DIGEST.exec(`${models[0].digest}`)?.[1] : undefined;
}

function readLayers(path: string): { readonly mediaType?: unknown; readonly digest?: unknown }[] {
  try {
    if (statSync(path).size > MOST_BYTES) return [];
    const { layers } = JSON.parse(readFileSync(path, "utf8"));
    return Array.isArray(layers) ? layers.filter((layer) => typeof layer === "object" && layer !== null) : [];
  } catch {
    return [];
  }
}
