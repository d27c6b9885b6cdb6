/** Stores of other programs, as they make them, with files of the given content. */
import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

/** Put files into a snapshot of a repository: links to blobs that are named by their hash. */
export function addHuggingFace(
  hub: string,
  repo: string,
  files: Readonly<Record<string, string>>,
  { revision = "0123abc", main = true } = {},
): string {
  const folder = join(hub, `models--${repo.replace("/", "--")}`);
  const snapshot = join(folder, "snapshots", revision);
  for (const [name, source] of Object.entries(files)) {
    const blob = join(folder, "blobs", hash(`${revision}${name}`));
    mkdirSync(dirname(blob), { recursive: true });
    copyFileSync(source, blob);
    const link = join(snapshot, name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(relative(dirname(link), blob), link);
  }
  mkdirSync(join(folder, "refs"), { recursive: true });
  if (main) writeFileSync(join(folder, "refs/main"), revision);
  return snapshot;
}

/** @param name `HOST/NAMESPACE/MODEL/TAG`; @returns the path of the blob */
export function addOllama(
  store: string,
  name: string,
  source: string,
  layers: readonly object[] = [],
): string {
  const digest = hash(source);
  const blob = join(store, "blobs", `sha256-${digest}`);
  mkdirSync(dirname(blob), { recursive: true });
  copyFileSync(source, blob);
  const path = join(store, "manifests", name);
  mkdirSync(dirname(path), { recursive: true });
  const model = { mediaType: "application/vnd.ollama.image.model", digest: `sha256:${digest}`, size: 1 };
  const license = {
    mediaType: "application/vnd.ollama.image.license",
    digest: `sha256:${hash("text")}`,
    size: 1,
  };
  writeFileSync(path, JSON.stringify({ schemaVersion: 2, layers: [license, model, ...layers] }));
  return blob;
}

export function addLmStudio(root: string, model: string, files: Readonly<Record<string, string>>): string {
  const folder = join(root, model);
  mkdirSync(folder, { recursive: true });
  for (const [name, source] of Object.entries(files)) copyFileSync(source, join(folder, name));
  return folder;
}

function hash(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
