import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { SluiceError } from "../errors.ts";
import { chooseFile, fittingFiles, listed, modelFiles, namesIn } from "./model-files.ts";

const FOLDER = /^models--(.+)$/;

/**
 * A model in the Hugging Face cache: `models--ORG--REPO/snapshots/REVISION/FILE`, where `refs/main` has the revision.
 * A file of another snapshot serves where that one has none that fits. A repository without GGUF files is the folder of
 * its safetensors.
 *
 * @param hub the cache's folder
 * @param repo `org/repo`, or `repo` alone as old ones are called
 * @throws SluiceError `bad-input`, with what there is
 */
export function findHuggingFace(hub: string, repo: string, quant: string | undefined): string {
  const spec = `hf:${repo}`;
  const asked = quant === undefined ? spec : `${spec}:${quant}`;
  const folder = repoFolder(hub, repo);
  const snapshots = folder === undefined ? [] : snapshotFolders(folder);
  if (snapshots.length === 0) {
    throw new SluiceError(
      "bad-input",
      `${spec} is not in the Hugging Face cache ${hub}; there is ${listed(repos(hub))}`,
      {
        next: `\`sluice pull ${asked}\` downloads it; HF_HOME or HF_HUB_CACHE name another cache.`,
      },
    );
  }
  const all = snapshots.map((snapshot) => ({ snapshot, files: modelFiles(snapshot) }));
  const { snapshot, files } =
    all.find(({ files }) => fittingFiles(files, quant).length > 0) ??
    all.find(({ files }) => files.length > 0) ??
    all[0];
  const weights = files.length === 0 && quant === undefined ? weightsOf(snapshots) : undefined;
  return (
    weights ?? chooseFile(spec, files, quant, snapshot, `\`sluice pull ${asked}\` looks for it on the hub.`)
  );
}

/** The first snapshot that has the model in safetensors. */
function weightsOf(snapshots: readonly string[]): string | undefined {
  return snapshots.find((snapshot) => {
    const names = namesIn(snapshot);
    return names.includes("config.json") && names.some((name) => name.endsWith(".safetensors"));
  });
}

/** The folder of a repository, whose name is the same in any case; undefined where there is none. */
export function repoFolder(hub: string, repo: string): string | undefined {
  const wanted = `models--${repo.replaceAll("/", "--")}`.toLowerCase();
  const name = namesIn(hub).find((name) => name.toLowerCase() === wanted);
  return name && join(hub, name);
}

/** The one that `refs/main` names, then the others, newest first. */
export function snapshotFolders(repo: string): string[] {
  const all = namesIn(join(repo, "snapshots"));
  const main = readMain(repo);
  const time = (name: string) =>
    name === main
      ? Infinity
      : (statSync(join(repo, "snapshots", name), { throwIfNoEntry: false })?.mtimeMs ?? 0);
  return all
    .sort((a, b) => (time(a) === time(b) ? 0 : time(b) - time(a)))
    .map((name) => join(repo, "snapshots", name));
}

/** The commit that `main` is in the folder of a repository. */
export function readMain(repo: string): string | undefined {
  try {
    return readFileSync(join(repo, "refs", "main"), "utf8").trim();
  } catch {
    return undefined;
  }
}

/** Repositories in the cache that have a GGUF file. */
function repos(hub: string): string[] {
  return namesIn(hub).flatMap((name) => {
    const repo = FOLDER.exec(name)?.[1].replace("--", "/");
    const has = (snapshot: string) => modelFiles(snapshot).length > 0;
    return repo !== undefined && snapshotFolders(join(hub, name)).some(has) ? [repo] : [];
  });
}
