/** Numbers for people, with their units. */

/** `1.23 ms`, `123 ms`, `12.3 s`: three digits; from ten minutes on `12 min 5 s`, `5 h 51 min`. */
export function formatMs(ms: number): string {
  if (ms < 999.5) return `${threeDigits(ms)} ms`;
  if (ms < 600_000) return `${threeDigits(ms / 1000)} s`;
  const seconds = Math.round(ms / 1000);
  const minutes = Math.floor(seconds / 60);
  return minutes < 60
    ? `${minutes} min ${seconds % 60} s`
    : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Three digits, no more than three of them behind the point: `0.012`, `1.23`, `12.3`, `1234`. */
export function threeDigits(value: number): string {
  const size = Math.abs(value);
  if (size === 0) return "0";
  return value.toFixed(size >= 99.95 ? 0 : size >= 9.995 ? 1 : size >= 0.1 ? 2 : 3);
}

/** `84 %`, `0.4 %`, `under 0.1 %`. */
export function formatShare(share: number): string {
  const value = 100 * share;
  if (value > 0 && value < 0.05) return "under 0.1 %";
  return `${value > 0 && value < 0.95 ? value.toFixed(1) : Math.round(value)} %`;
}

/** The same text with units that stay on the line of their number. */
export function tieUnits(text: string): string {
  return text.replace(/(?<=\d) (?=(?:%|ms|s|min|h|[kMGT]?B|tokens|times)(?![a-z]))/g, "\u00a0");
}
