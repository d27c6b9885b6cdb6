/** The figures of a recording that a report begins with. */

import { type CondensedRecording, countOf, stagesOf, sumSweeps, sweepsOf } from "./condense.ts";
import type { RecordedSweep } from "./recording.ts";
import { perSecond } from "./statistics.ts";
import { STARVED } from "./verdict.ts";

/** All sweeps of a kind. */
export interface Speed {
  readonly sweeps: number;
  /** Tokens of the text that they brought. */
  readonly tokens: number;
  readonly ms: number;
  /** Tokens that were guessed, those of them that held, and how long guessing took, before the sweeps. */
  readonly guessed: number;
  readonly held: number;
  readonly guessMs: number;
  readonly tokensPerSecond: number;
  /** Bytes read from disk, of all sweeps, and per second of them. */
  readonly bytes: number;
  readonly bytesPerSecond: number;
  /** Bytes per second of the time in which something was read: what reading gives. */
  readonly readPerSecond: number;
  /** Of all sweeps: waiting for bytes, and arithmetic. */
  readonly waitMs: number;
  readonly computeMs: number;
}

/** Whether bytes came before the arithmetic had to wait for them. */
export function readingKeepsUp({ waitMs, ms }: Speed): boolean {
  return waitMs <= STARVED * ms;
}

/** How weights were read. What comes through the page cache may have been there, or come from disk: only the system knows. */
export function readingPlace({ model }: Pick<CondensedRecording, "model">): string {
  if (model === undefined) return "";
  return model.direct ? "from disk" : "through the page cache";
}

/** Undefined where there was no sweep of the kind. */
export function speedOf({ sweeps }: CondensedRecording, kind: RecordedSweep["kind"]): Speed | undefined {
  const chosen = sweepsOf(sweeps, kind);
  if (chosen.length === 0) return undefined;
  const sum = sumSweeps(chosen);
  const total = (part: "bytes" | "readMs" | "waitMs" | "computeMs") =>
    stagesOf(sum).reduce((all, stage) => all + stage[part], 0);
  const bytes = total("bytes");
  const { tokens = sum.rows, guessed = 0, held = 0, guessMs = 0 } = sum;
  return {
    sweeps: countOf(chosen),
    ...{ tokens, guessed, held, guessMs },
    ms: sum.ms,
    tokensPerSecond: perSecond(tokens, sum.ms + guessMs),
    bytes,
    bytesPerSecond: perSecond(bytes, sum.ms),
    readPerSecond: perSecond(bytes, total("readMs")),
    waitMs: total("waitMs"),
    computeMs: total("computeMs"),
  };
}
