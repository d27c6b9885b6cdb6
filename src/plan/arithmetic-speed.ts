import { createHash } from "node:crypto";
import { dirname } from "node:path";
import { rehearse } from "../engine/rehearsal.ts";
import type { KvType } from "../kernels/types.ts";
import type { Cache } from "../store/cache.ts";
import { layoutChunks } from "../store/layout.ts";
import { isRate, recall, remember } from "../store/remembered.ts";
import type { StoredFile } from "../store/types.ts";
import { version } from "../version.ts";

const FILE = "arithmetic.json";
/** A model is in memory beside this: little, but more than the caches of most processors. */
const WEIGHTS_BYTES = 48 * 1024 * 1024;

/**
 * Bytes of a model's weights per second that the threads compute with when these are in memory: rehearsed with its
 * first layer, and remembered in the cache root until another model is asked for, or until it is surpassed.
 *
 * @param seen bytes per second that there were in a sweep
 */
export async function arithmeticSpeed(
  { folder, manifest }: Cache,
  { threads, kvType, seen }: { readonly threads: number; readonly kvType: KvType; readonly seen: number },
): Promise<number> {
  const root = dirname(folder);
  const { tensors } = manifest.layers[0];
  const layer = createHash("sha256")
    .update(JSON.stringify([tensors, manifest.model.layers[0]]))
    .digest("hex");
  const circumstances = { sluice: version(), node: process.version, threads, kvType, layer };
  const known = recall(root, FILE, circumstances, isMeasured);
  if (known && known.bytesPerSecond >= seen) return known.bytesPerSecond;
  const [{ decode }] = await rehearse(manifest.model, [{ tensors, kvType }], threads, WEIGHTS_BYTES);
  const measured = { bytesPerSecond: Math.max(seen, plainBytes(manifest.layers[0]) / decode) };
  remember(root, FILE, circumstances, measured);
  return measured.bytesPerSecond;
}

/** Bytes of a weight file's chunks, before compression. */
export function plainBytes({ tensors }: StoredFile): number {
  return layoutChunks(tensors).reduce((sum, { bytes }) => sum + bytes, 0);
}

function isMeasured(found: unknown): found is { bytesPerSecond: number } {
  return isRate((found as { bytesPerSecond: unknown }).bytesPerSecond);
}
