/** What every command that runs a model does first: find its cache, or make it. */
import { type Command, Option } from "commander";
import { SluiceError } from "../errors.ts";
import { fingerprint } from "../gguf/fingerprint.ts";
import { openModel } from "../hf/open-model.ts";
import { type Cache, findCaches, isCacheFolder, openCache } from "../store/cache.ts";
import { type Compression, DTYPES, type Dtype } from "../store/types.ts";
import type { UnpackOptions, UnpackResult } from "../unpack/types.ts";
import { addCacheDirOption, resolveRoot, temporaryRoot } from "./cache-options.ts";
import { interruptSignal } from "./interrupt.ts";
import { note } from "./note.ts";
import { currentRecorder } from "./timings-file.ts";

export interface UnpackFlags {
  dtype?: Dtype;
  compress?: Exclude<Compression, "none">;
  cacheDir?: string;
  tempCache?: boolean;
}

/** Options of how weights are unpacked and where. */
export function addUnpackOptions(command: Command): Command {
  command
    .addOption(
      new Option(
        "--dtype <dtype>",
        "type of the unpacked weights (default: what is unpacked already, else f32; a terminal asks)",
      ).choices(DTYPES),
    )
    .addOption(
      new Option("--compress <method>", "compress unpacked weights, for slow disks").choices(["lz4"]),
    );
  return addCacheDirOption(command).option(
    "--temp-cache",
    "unpack into a temporary folder that is removed at the end",
  );
}

/**
 * The folder of a model's finished cache; it is made first where there is none, with bars on stderr.
 * Without a dtype, f32 is taken where it is there, else whatever is, else `defaultDtype` is made.
 *
 * @param model a GGUF file, a folder with the parts of one, or the folder of a finished cache
 */
export async function ensureUnpacked(
  model: string,
  flags: UnpackFlags,
  stderr: NodeJS.WriteStream = process.stderr,
): Promise<string> {
  if (isCacheFolder(model)) return openCacheFolder(model, flags);
  const root = flags.tempCache ? temporaryRoot() : resolveRoot(flags.cacheDir);
  const caches = findCaches(root, fileFingerprint(model));
  const found = chooseCache(caches, flags);
  if (!found) {
    const { defaultDtype } = await import("./choose-dtype.ts");
    const dtype = flags.dtype ?? (await defaultDtype(model, root, chooseCache(caches, {})));
    return (await unpackShown(model, root, { ...flags, dtype }, {}, stderr)).folder;
  }
  const { dtype } = found.manifest;
  if (flags.dtype === undefined && dtype !== "f32")
    note(`sluice: using the weights unpacked as ${dtype}; --dtype f32 unpacks them in full`, stderr);
  return found.folder;
}

/** Unpack with the progress on stderr, stoppable by Ctrl-C. What that takes is loaded only here: most runs find a cache. */
export async function unpackShown(
  path: string,
  root: string,
  { dtype = "f32", compress }: UnpackFlags,
  more: Pick<UnpackOptions, "force">,
  stderr: NodeJS.WriteStream = process.stderr,
): Promise<UnpackResult> {
  const { unpack } = await import("../unpack/unpack.ts");
  const { UnpackView } = await import("./unpack-view.ts");
  const { describeCache } = await import("./describe-run.ts");
  const view = new UnpackView(stderr);
  const recorder = currentRecorder()?.unpack;
  let made = true;
  recorder?.begin();
  try {
    const result = await unpack(path, {
      ...more,
      dtype,
      compression: compress ?? "none",
      root,
      signal: interruptSignal,
      onProgress: (event) => {
        view.onProgress(event);
        if (event.type === "file") recorder?.fileBegins();
        if (event.type === "file-done") recorder?.fileDone(event);
      },
    });
    made = !result.reused;
    if (recorder) recorder.model = describeCache(result);
    return result;
  } finally {
    recorder?.end(made);
    view.end();
  }
}

/** The best of a model's caches that is as asked for: f32 before other dtypes, plain before compressed. */
export function chooseCache(
  caches: readonly Cache[],
  { dtype, compress }: Pick<UnpackFlags, "dtype" | "compress">,
): Cache | undefined {
  const rank = ({ manifest }: Cache) =>
    2 * DTYPES.indexOf(manifest.dtype) + (manifest.compression === "none" ? 0 : 1);
  return caches
    .filter(({ manifest }) => dtype === undefined || manifest.dtype === dtype)
    .filter(({ manifest }) => compress === undefined || manifest.compression === compress)
    .sort((a, b) => rank(a) - rank(b))[0];
}

function openCacheFolder(folder: string, flags: UnpackFlags): string {
  const cache = openCache(folder);
  if (chooseCache([cache], flags)) return folder;
  const { dtype, compression } = cache.manifest;
  throw new SluiceError("bad-input", `${folder} is unpacked as ${dtype}, compression ${compression}`, {
    next: "Leave out --dtype and --compress, or give the model file instead of the folder.",
  });
}

/** @returns the fingerprint of a model file */
export function fileFingerprint(path: string): string {
  const gguf = openModel(path);
  try {
    return fingerprint(gguf);
  } finally {
    gguf.close();
  }
}
