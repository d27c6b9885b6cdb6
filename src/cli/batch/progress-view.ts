import type { BatchProgress, BatchSummary } from "../../engine/batch/types.ts";
import { LiveLine } from "../live-line.ts";
import { formatDuration } from "../progress-bars.ts";
import { bar } from "../progress-text.ts";

/** Speed is that of so many milliseconds. */
const WINDOW_MS = 20_000;

/** What is known of the prompts. */
export interface Counts {
  /** Results that are written, those of earlier runs included. */
  readonly done: number;
  /** Prompts in all; undefined while they come from a pipe. */
  readonly total: number | undefined;
}

/** A line on the terminal that tells how far a batch is. */
export class BatchProgressView {
  readonly #live: LiveLine;
  readonly #samples: { readonly ms: number; readonly generated: number }[] = [];

  constructor(live = new LiveLine(process.stderr)) {
    this.#live = live;
  }

  show(progress: BatchProgress, counts: Counts): void {
    const { ms, generated } = progress;
    this.#samples.push({ ms, generated });
    while (ms - this.#samples[0].ms > WINDOW_MS) this.#samples.shift();
    this.#live.show(() => progressTexts(progress, counts, this.#speed(progress)));
  }

  /** To be called before anything else is printed. */
  clear(): void {
    this.#live.clear();
  }

  /** Tokens per second. */
  #speed({ ms, generated }: BatchProgress): number {
    const [first] = this.#samples;
    return ms > first.ms ? ((generated - first.generated) * 1000) / (ms - first.ms) : 0;
  }
}

/** Where a batch stands, in words; a long form, then shorter ones for narrow places. */
export function progressTexts(progress: BatchProgress, { done, total }: Counts, speed: number): string[] {
  const { running, prefilling, layer, layers } = progress;
  const pace = speed > 0 ? `${speed.toFixed(1)} tokens/s` : `layer ${Math.min(layer, layers)}/${layers}`;
  const work = `${running} at work`;
  const prompts = prefilling > 0 ? `${work} (${prefilling} at their prompt)` : work;
  if (total === undefined)
    return [`${done} done · ${prompts} · ${pace}`, `${done} done · ${pace}`, `${done} done`];
  const left = timeLeft(progress, total - done, speed);
  const share = total === 0 ? 1 : done / total;
  const percent = `${Math.floor(share * 100)}%`;
  const count = `${done} of ${total}`;
  const waiting = `${Math.max(0, total - done - running)} waiting`;
  return [
    `${bar(share)} ${percent} · ${count} · ${prompts}, ${waiting} · ${pace}${left}`,
    `${bar(share)} ${percent} · ${count} · ${work} · ${pace}${left}`,
    `${count} · ${work} · ${pace}${left}`,
    `${count} · ${pace}${left}`,
    count,
  ];
}

/** From what an answer has taken so far. */
function timeLeft({ answers, generated, running }: BatchProgress, prompts: number, speed: number): string {
  if (answers === 0 || speed === 0) return "";
  // Of those at work, half is done.
  const tokens = (prompts - running / 2) * (generated / (answers + running / 2));
  return ` · ${formatDuration(tokens / speed)} left`;
}

/** What a batch was, for people. */
export function summaryText(summary: BatchSummary, errors: number): string {
  const { answers, sweeps, rows, generated, reused, recalled, restarts, parallel, ms } = summary;
  const parts = [
    `${plural(answers, "answer")}${errors > 0 ? ` and ${plural(errors, "error")}` : ""} in ${formatDuration(ms / 1000)}`,
  ];
  if (sweeps > 0)
    parts.push(
      `${plural(generated, "token")}, ${((generated * 1000) / ms).toFixed(1)} per second`,
      `${plural(sweeps, "sweep")} of ${(rows / sweeps).toFixed(1)} rows, ${(generated / sweeps).toFixed(1)} new tokens each`,
      `up to ${plural(parallel, "sequence")} at a time`,
    );
  if (reused > 0) parts.push(`${plural(reused, "token")} of prompts computed only once`);
  if (recalled > 0) parts.push(`${plural(recalled, "token")} of prompts from the prompt cache`);
  if (restarts > 0) parts.push(`${plural(restarts, "sequence")} computed again for want of memory`);
  return `sluice: ${parts.join("; ")}`;
}

function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
