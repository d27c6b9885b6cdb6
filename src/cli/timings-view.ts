import type { GenerationTiming } from "../timing/report.ts";
import { layerTable, timingBlock } from "../timing/table.ts";

/** Load, prefill and decode, then the layers of an average decode sweep (of the prefill where nothing was decoded). */
export function timingLines(timing: GenerationTiming): string[] {
  const [name, sweeps] = timing.decode.length > 0 ? ["decode", timing.decode] : ["prefill", timing.prefill];
  const table = layerTable(sweeps);
  if (table.length === 0) return timingBlock(timing);
  const count = sweeps.length === 1 ? `1 ${name} sweep` : `${name}, mean of ${sweeps.length} sweeps`;
  return [...timingBlock(timing), "", count, ...table];
}
