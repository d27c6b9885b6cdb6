import { join } from "node:path";
import type { Address } from "../kernels/types.ts";
import type { Cache } from "../store/cache.ts";
import { SHADOW_DTYPES, type ShadowDtype, shadowFileName, shadowWeights } from "../store/shadow.ts";
import { planResidence, type Residence } from "../stream/residence.ts";
import type { ResidentChunks } from "../stream/resident-cursor.ts";
import { type ChunkRead, planSweep, type SweepPlan } from "../stream/sweep-plan.ts";
import type { Arena } from "./arena.ts";

/** As reads past the page cache want it. */
const SHADOW_ALIGNMENT = 4096;

/** More than is lost between chunks in the engine's memory. */
const SHADOW_ROUNDING = 8 << 20;

/**
 * Give a budget of memory to weights: to chunks that stay, and with a shadow to its copies first.
 *
 * @param budget bytes of weights
 * @param limit how far the engine's memory may grow
 */
export function placeWeights(
  cache: Cache,
  plan: SweepPlan,
  arena: Arena,
  {
    budget,
    limit,
    withShadow,
  }: { readonly budget: number; readonly limit: number; readonly withShadow: boolean },
): { readonly residence: Residence; readonly shadow: Shadow | undefined } {
  const room = Math.min(budget, limit - arena.used - SHADOW_ROUNDING);
  const chosen = withShadow ? chooseShadow(cache, plan, room) : undefined;
  const bytes = chosen?.bytes ?? 0;
  const address = arena.allocate(bytes, SHADOW_ALIGNMENT);
  const residence = planResidence(
    plan,
    budget - bytes,
    (wanted) => arena.allocateBelow(limit, wanted),
    ({ stage }) => chosen?.whole.has(stage) ?? false,
  );
  return { residence, shadow: chosen && placeShadow(cache, chosen, plan, residence, address) };
}

/** What a budget is used for where there is a shadow. */
interface ShadowChoice {
  readonly dtype: ShadowDtype;
  /** Layers that stay in memory as they are, and serve both. */
  readonly whole: ReadonlySet<number>;
  /** Of the shadow's file, those of all other stages. */
  readonly chunks: readonly ChunkRead[];
  /** Of these. */
  readonly bytes: number;
}

/** A model's weights to guess with, in the engine's memory: copies in fewer bits, and layers that stay as they are. */
export interface Shadow extends ResidentChunks {
  readonly dtype: ShadowDtype;
  readonly path: string;
  /** The chunks that come from its file, with their addresses. */
  readonly own: ReadonlyMap<ChunkRead, Address>;
  readonly bytes: number;
  /** Whether its weights are there. */
  loaded: boolean;
}

/**
 * The most bits that fit into a budget, and then as many layers as they are as fit, spread evenly over the sweep. A layer
 * that stays costs little more than what its copy takes, and need not be read again.
 *
 * @returns undefined where no copy fits
 */
function chooseShadow(
  { folder, manifest }: Cache,
  plan: SweepPlan,
  budget: number,
): ShadowChoice | undefined {
  const layers = manifest.model.layers.length;
  for (const dtype of SHADOW_DTYPES) {
    const { chunks } = planSweep(folder, shadowWeights(manifest, dtype));
    for (let count = layers; count >= 0; count--) {
      const whole = new Set(
        Array.from({ length: count }, (_, index) => Math.floor((index * layers) / count)),
      );
      const copied = chunks.filter(({ stage }) => !whole.has(stage));
      const bytes = totalBytes(copied);
      if (bytes + totalBytes(plan.chunks.filter(({ stage }) => whole.has(stage))) <= budget)
        return { dtype, whole, chunks: copied, bytes };
    }
  }
  return undefined;
}

/**
 * Put it together.
 *
 * @param address of its own chunks, `SHADOW_ALIGNMENT`
 */
function placeShadow(
  { folder }: Cache,
  { dtype, whole, chunks, bytes }: ShadowChoice,
  plan: SweepPlan,
  residence: Residence,
  address: Address,
): Shadow {
  const own = new Map<ChunkRead, Address>();
  for (const chunk of chunks) {
    own.set(chunk, address);
    address += chunk.bytes;
  }
  const places = new Map(own);
  for (const [index, chunk] of plan.chunks.entries())
    if (whole.has(chunk.stage)) places.set(chunk, residence.offsets[index]);
  const ordered = [...places].sort(([a], [b]) => a.stage - b.stage);
  return {
    ...{ dtype, own, bytes, loaded: false },
    path: join(folder, shadowFileName(dtype)),
    chunks: ordered.map(([chunk]) => chunk),
    addresses: Float64Array.from(ordered, ([, place]) => place),
  };
}

/** Bytes of the shadow with the fewest bits. */
export function smallestShadow({ folder, manifest }: Cache): number {
  return totalBytes(
    planSweep(folder, shadowWeights(manifest, SHADOW_DTYPES[SHADOW_DTYPES.length - 1])).chunks,
  );
}

function totalBytes(chunks: readonly ChunkRead[]): number {
  return chunks.reduce((sum, { bytes }) => sum + bytes, 0);
}
