import type { GenerationTiming } from "../timing/report.ts";
import { layerTable, type Reachable, timingBlock } from "../timing/table.ts";

/**
 * Load, prefill and decode, then the layers of an average decode sweep (of the prefill where nothing was decoded).
 *
 * @param reachable what the decode sweeps are held against
 */
export function timingLines(timing: GenerationTiming, reachable?: Reachable): string[] {
  const decoded = timing.decode.length > 0;
  const [name, sweeps] = decoded ? ["decode", timing.decode] : ["prefill", timing.prefill];
  const table = layerTable(sweeps, decoded ? reachable : undefined);
  if (table.length === 0) return timingBlock(timing);
  const count = sweeps.length === 1 ? `1 ${name} sweep` : `${name}, mean of ${sweeps.length} sweeps`;
  return [...timingBlock(timing), "", count, ...table];
}
