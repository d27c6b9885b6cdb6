const UNITS = ["B", "kB", "MB", "GB", "TB"];

/** Bytes for people, in decimal units with three digits: `12.3 GB`, `987 B`. */
export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 999.5 && unit < UNITS.length - 1) {
    value /= 1000;
    unit++;
  }
  const decimals = unit === 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return `${value.toFixed(decimals)} ${UNITS[unit]}`;
}
