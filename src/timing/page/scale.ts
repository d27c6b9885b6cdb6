/** Units of axes, chosen by the largest value on them. */

export interface Unit {
  readonly name: string;
  /** One of it in the unit of the recording. */
  readonly size: number;
}

export function timeUnit(ms: number): Unit {
  return ms >= 2000 ? { name: "s", size: 1000 } : { name: "ms", size: 1 };
}

export function byteUnit(bytes: number): Unit {
  if (bytes >= 1e9) return { name: "GB", size: 1e9 };
  return bytes >= 1e6 ? { name: "MB", size: 1e6 } : { name: "kB", size: 1e3 };
}

/** Tick texts without noise of floating point. */
export function tickText({ size, name }: Unit): (value: number) => string {
  return (value) => `${Number((Math.abs(value) / size).toPrecision(6))} ${name}`;
}

/** Round places in an axis of another unit than its values: about `count` of them. */
export function ticks({ size }: Unit, count: number): (min: number, max: number) => number[] {
  return (min, max) => {
    const rough = (max - min) / size / count;
    const power = 10 ** Math.floor(Math.log10(rough || 1));
    const step = ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10) * power * size;
    const first = Math.ceil(min / step - 1e-9);
    const last = Math.floor(max / step + 1e-9);
    return Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => (first + index) * step);
  };
}

/** Ticks at whole numbers. */
export function wholeTicks(count: number): (min: number, max: number) => number[] {
  return (min, max) =>
    [...new Set(ticks({ name: "", size: 1 }, count)(min, max).map(Math.round))].filter(
      (value) => value >= min && value <= max,
    );
}

/** How many ticks fit beside each other. */
export function tickCount(): number {
  return innerWidth < 600 ? 4 : 8;
}
