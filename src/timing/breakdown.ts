/** Where the time of a recording went, as named sums: what tables and comparisons are made of. */
import type { RecordedSweep, RecordedUnpack, Recording } from "./recording.ts";
import { sumStages, sumTimings } from "./statistics.ts";

/** Sums in the order in which they are shown, and what they are to add up to. */
export interface Breakdown {
  readonly title: string;
  readonly parts: readonly (readonly [name: string, ms: number])[];
  /** Wall time that the parts are of. */
  readonly ms: number;
  /** What came once, and is in none of them. */
  readonly once?: readonly [name: string, ms: number];
}

/** The whole run by spans; `other` is what no span covers. */
export function spanBreakdown({ command, spans, ms }: Recording): Breakdown {
  const sums = new Map<string, number>();
  for (const span of spans) sums.set(span.name, (sums.get(span.name) ?? 0) + span.ms);
  const covered = [...sums.values()].reduce((sum, part) => sum + part, 0);
  const title = command === "bench" ? "all, warming up included" : "all";
  return { title, parts: [...sums, ["other", Math.max(0, ms - covered)]], ms };
}

/** The unpack by stages; undefined where there was none. */
export function unpackBreakdown({
  unpack,
  spans,
}: Pick<Recording, "spans"> & { readonly unpack?: RecordedUnpack | undefined }): Breakdown | undefined {
  if (unpack === undefined) return undefined;
  const { files, prepareMs = 0, finishMs = 0 } = unpack;
  const sum = (pick: (file: (typeof files)[number]) => number) =>
    files.reduce((total, file) => total + pick(file), 0);
  const parts = [
    ["prepare", prepareMs],
    ["read", sum((file) => file.readMs)],
    ["dequantize", sum((file) => file.dequantizeMs)],
    ["encode", sum((file) => file.encodeMs)],
    ["write", sum((file) => file.writeMs)],
    ["finish", finishMs],
  ] as const;
  // The last one: it is the one whose files were recorded.
  const span = spans.findLast(({ name }) => name === "unpack");
  return { title: "unpack", parts, ms: span?.ms ?? parts.reduce((total, [, ms]) => total + ms, 0) };
}

/** Sweeps of one kind by parts, per token; undefined where there were none. */
export function sweepBreakdown({ sweeps }: Recording, kind: RecordedSweep["kind"]): Breakdown | undefined {
  const chosen = sweeps.filter((sweep) => sweep.kind === kind);
  const { tokens, ms, guessMs, embedding, layers, output } = sumStages(chosen);
  if (tokens === 0) return undefined;
  const layer = sumTimings(layers);
  const sampleMs = chosen.reduce((sum, sweep) => sum + sweep.sampleMs, 0);
  const startMs = chosen.reduce((sum, sweep) => sum + (sweep.threadStartMs ?? 0), 0);
  const handoverMs = chosen.reduce((sum, sweep) => sum + (sweep.handoverMs ?? 0), 0) - startMs;
  const parts = [
    ["embedding", embedding.waitMs + embedding.computeMs],
    ["wait for layers", layer.waitMs],
    ["attention", layer.attentionMs],
    ["feed-forward", layer.feedForwardMs],
    ["wait for output", output.waitMs],
    ["output", output.computeMs],
    ["hand-over", handoverMs],
    ["sample", sampleMs],
    ...(guessMs > 0 ? [["guess", guessMs] as const] : []),
  ] as const;
  const count = `${tokens} token${tokens === 1 ? "" : "s"}`;
  return {
    title: `${kind} of ${count}, per token`,
    parts: parts.map(([name, sum]) => [name, sum / tokens]),
    ms: (ms - startMs + sampleMs + guessMs) / tokens,
    ...(startMs > 0 && { once: ["once: starting the threads", startMs] as const }),
  };
}

/** What each stage of the decode sweeps (where there are none: of the prefill) held a token up; undefined without sweeps. */
export function stageBreakdown({ sweeps }: Recording): Breakdown | undefined {
  const decode = sweeps.filter(({ kind }) => kind === "decode");
  const chosen = decode.length > 0 ? decode : sweeps;
  const { tokens, embedding, layers, output } = sumStages(chosen);
  if (tokens === 0) return undefined;
  const parts = [
    ["embedding", embedding] as const,
    ...layers.map((layer, index) => [`${index}`, layer] as const),
    ["output", output] as const,
  ].map(([name, { waitMs, computeMs }]) => [name, (waitMs + computeMs) / tokens] as const);
  return {
    title: `${decode.length > 0 ? "decode" : "prefill"} by layer, waiting and computing, per token`,
    parts,
    ms: parts.reduce((sum, [, ms]) => sum + ms, 0),
  };
}
