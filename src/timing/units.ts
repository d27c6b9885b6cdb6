/** Numbers for people, with their units. */

/** `1.23 ms`, `123 ms`, `12.3 s`: three digits. */
export function formatMs(ms: number): string {
  return ms < 999.5 ? `${threeDigits(ms)} ms` : `${threeDigits(ms / 1000)} s`;
}

/** Three digits, no more than three of them behind the point: `0.012`, `1.23`, `12.3`, `1234`. */
export function threeDigits(value: number): string {
  const size = Math.abs(value);
  if (size === 0) return "0";
  return value.toFixed(size >= 99.95 ? 0 : size >= 9.995 ? 1 : size >= 0.1 ? 2 : 3);
}

/** `84 %`, `0.4 %`. */
export function formatShare(share: number): string {
  const value = 100 * share;
  return `${value > 0 && value < 0.95 ? value.toFixed(1) : Math.round(value)} %`;
}
