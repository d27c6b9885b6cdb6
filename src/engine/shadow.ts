import type { Cache } from "../store/cache.ts";
import { SHADOW_DTYPES, type ShadowDtype, shadowWeights } from "../store/shadow.ts";
import type { ResidentChunks } from "../stream/resident-cursor.ts";
import { planSweep, type SweepPlan } from "../stream/sweep-plan.ts";
import type { Arena } from "./arena.ts";

/** A low-bit copy of a model's weights that lies in the engine's memory, to guess with. */
export interface Shadow extends ResidentChunks {
  readonly dtype: ShadowDtype;
  readonly bytes: number;
  /** Whether its weights are there. */
  loaded: boolean;
}

/** As reads past the page cache want it. */
export const SHADOW_ALIGNMENT = 4096;

/** The shadow with the most bits that fits into a budget; undefined: none does. */
export function chooseShadow(
  { folder, manifest }: Cache,
  budget: number,
): { readonly dtype: ShadowDtype; readonly plan: SweepPlan; readonly bytes: number } | undefined {
  return SHADOW_DTYPES.map((dtype) => {
    const plan = planSweep(folder, shadowWeights(manifest, dtype));
    return { dtype, plan, bytes: plan.chunks.reduce((sum, chunk) => sum + chunk.bytes, 0) };
  }).find(({ bytes }) => bytes <= budget);
}

/** Bytes of the shadow with the fewest bits. */
export function smallestShadow({ folder, manifest }: Cache): number {
  const { chunks } = planSweep(folder, shadowWeights(manifest, SHADOW_DTYPES[SHADOW_DTYPES.length - 1]));
  return chunks.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** Give a shadow its place. */
export function placeShadow(
  { dtype, plan, bytes }: NonNullable<ReturnType<typeof chooseShadow>>,
  arena: Arena,
): Shadow {
  let address = arena.allocate(bytes, SHADOW_ALIGNMENT);
  const addresses = Float64Array.from(plan.chunks, (chunk) => {
    address += chunk.bytes;
    return address - chunk.bytes;
  });
  return { dtype, plan, bytes, addresses, loaded: false };
}
