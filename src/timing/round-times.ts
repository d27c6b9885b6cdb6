/** A value with every number in it rounded to microseconds, which is what the clock is good for. */
export function roundTimes<Value>(value: Value): Value {
  if (typeof value === "number") return roundTime(value) as Value;
  if (Array.isArray(value)) return value.map(roundTimes) as Value;
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, roundTimes(item)])) as Value;
}

/** Milliseconds to microseconds. */
export function roundTime(value: number): number {
  return Math.round(value * 1000) / 1000;
}
