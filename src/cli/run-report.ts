import type { Model } from "../engine/model.ts";
import type { Session } from "../engine/session.ts";
import type { Choice, GeneratedToken, GenerateResult } from "../engine/types.ts";
import { reportTimings, type TimingsReport } from "../timing/report.ts";

/** What `run --json` prints. */
export interface RunReport {
  readonly model: {
    readonly name: string;
    readonly architecture: string;
    readonly layers: number;
    readonly dtype: string;
    /** Folder of the unpacked model. */
    readonly cache: string;
  };
  readonly prompt: { readonly text: string; readonly ids: readonly number[] };
  readonly output: {
    readonly text: string;
    readonly ids: readonly number[];
    /** `length`: as many tokens as were asked for, or as the context holds. */
    readonly stop: "eog" | "stop" | "length" | "abort";
    /** Where it stopped at one of the texts given with `--stop`: which one. */
    readonly stop_text?: string;
  };
  /** With `--logprobs`: one for each id of the output. */
  readonly logprobs?: readonly NonNullable<GeneratedToken["logprob"]>[];
  /** With `--explain`: one for each id of the output. */
  readonly choices?: readonly Choice[];
  readonly timings: TimingsReport;
  readonly memory: {
    readonly peak_rss_bytes: number;
    readonly kv_bytes: number;
    readonly ring_bytes: number;
    readonly resident_bytes: number;
  };
}

/** What programs are told of the model that runs. */
export function modelReport({ manifest, folder }: Pick<Model, "manifest" | "folder">): RunReport["model"] {
  const { name, architecture, layers } = manifest.model;
  return { name, architecture, layers: layers.length, dtype: manifest.dtype, cache: folder };
}

export function reportRun({
  model,
  session,
  prompt,
  tokens,
  result,
}: {
  readonly model: Model;
  readonly session: Session;
  readonly prompt: RunReport["prompt"];
  readonly tokens: readonly GeneratedToken[];
  readonly result: GenerateResult;
}): RunReport {
  const { loadMs } = model;
  const logprobs = tokens.flatMap(({ logprob }) => logprob ?? []);
  const choices = tokens.flatMap(({ choice }) => choice ?? []);
  const { ringBytes, residentBytes } = model.memory();
  return {
    model: modelReport(model),
    prompt: { text: prompt.text, ids: prompt.ids },
    output: {
      text: result.text,
      ids: result.ids,
      stop: result.stop === "context" ? "length" : result.stop,
      ...(result.stopText !== undefined && { stop_text: result.stopText }),
    },
    ...(logprobs.length > 0 && { logprobs }),
    ...(choices.length > 0 && { choices }),
    timings: reportTimings({ loadMs, ...result }),
    memory: {
      // maxRSS is in kilobytes on every platform.
      peak_rss_bytes: process.resourceUsage().maxRSS * 1024,
      kv_bytes: session.kvBytes,
      ring_bytes: ringBytes,
      resident_bytes: residentBytes,
    },
  };
}
