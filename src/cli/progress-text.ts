import type { GenerateProgress } from "../engine/types.ts";

/**
 * Where a generation stands, in words; a long form, then shorter ones for narrow places.
 *
 * @param ms since the prefill began, or milliseconds per token in decode (0: not known yet)
 */
export function progressTexts(progress: GenerateProgress, ms: number): string[] {
  const { phase, layer, layers, rowsDone, rowsInSweep, rowsTotal } = progress;
  const at = `layer ${layer}/${layers}`;
  if (phase === "decode")
    return [...(ms > 0 ? [`${at} · ${seconds(ms)}/token`] : []), at, `${layer}/${layers}`];
  const tokens =
    rowsInSweep < rowsTotal
      ? `tokens ${rowsDone + 1}-${rowsDone + rowsInSweep} of ${rowsTotal}`
      : `${rowsTotal} ${rowsTotal === 1 ? "token" : "tokens"}`;
  return [`prefill ${tokens} · ${at} · ${seconds(ms)}`, `prefill ${at}`, `${layer}/${layers}`];
}

function seconds(ms: number): string {
  return ms < 9950 ? `${(ms / 1000).toFixed(1)} s` : `${Math.round(ms / 1000)} s`;
}
