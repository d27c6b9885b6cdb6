/** What is said in words of a generation that is watched. */
import { formatBytes } from "../format-bytes.ts";
import type { Glyphs } from "./glyphs.ts";
import { formatDuration } from "./progress-bars.ts";
import type { WatchState } from "./watch-state.ts";

/** What of a generation fits into one line: for where there is no window to draw in. */
export function watchLine(state: WatchState, glyphs: Glyphs): string {
  const { source, readRate, waiting, rssBytes } = state;
  const from = source === "disk" ? "from disk" : "through the page cache";
  const reading = source === "memory" ? [] : [`${formatBytes(readRate)}/s ${from}`];
  const figures = [...reading, `${percent(waiting)} waiting`, `RSS ${formatBytes(rssBytes)}`];
  return [...progressPieces(state), ...figures].join(glyphs.between);
}

/** Where a generation stands, in pieces: how far, how fast, how much longer. */
export function progressPieces(state: WatchState): string[] {
  const { phase, promptDone, promptTokens, tokens, tokenLimit, seconds, secondsLeft } = state;
  const time = formatDuration(Math.floor(seconds));
  if (phase === "prompt") {
    const left = secondsLeft === undefined ? [] : [`${formatDuration(secondsLeft)} left`];
    return [`prompt: ${promptDone} of ${promptTokens} tokens`, time, ...left];
  }
  const limit = Number.isFinite(tokenLimit) ? `${tokens} of ${tokenLimit} tokens` : `${tokens} tokens`;
  const { secondsPerToken } = state;
  const [each, rate] = secondsPerToken ? paceTexts(secondsPerToken) : [];
  const left = secondsLeft === undefined ? [] : [`at most ${formatDuration(secondsLeft)} left`];
  return [limit, ...(each ? [each] : []), ...left, ...(rate ? [rate] : []), time];
}

/** `1.21 s/token` and `0.83 tokens/s` */
export function paceTexts(secondsPerToken: number): [each: string, rate: string] {
  const digits = (value: number) => value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0);
  const each =
    secondsPerToken < 0.1 ? `${digits(secondsPerToken * 1000)} ms` : `${digits(secondsPerToken)} s`;
  return [`${each}/token`, `${digits(1 / secondsPerToken)} tokens/s`];
}

export function percent(share: number): string {
  return `${Math.round(100 * share)} %`;
}
