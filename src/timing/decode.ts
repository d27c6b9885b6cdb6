/** Readers of JSON that nobody has checked: each takes a value and gives it back as what it must be, or throws. */

/** A value is not what it must be; `path` leads to it. */
export class Mismatch extends Error {
  path = "";
}

export type Reader<Value> = (value: unknown) => Value;

type Fields<Value> = {
  [Key in keyof Value]-?: Reader<
    Pick<Value, Key> extends Required<Pick<Value, Key>> ? Value[Key] : Value[Key] | undefined
  >;
};

/** Only these fields: others are left out. */
export function object<Value extends object>(fields: Fields<Value>): Reader<Value> {
  const readers = Object.entries(fields) as [string, Reader<unknown>][];
  return (value) => {
    if (typeof value !== "object" || value === null || Array.isArray(value))
      throw new Mismatch("must be an object");
    const result: Record<string, unknown> = {};
    for (const [key, read] of readers) {
      const own = Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined;
      const item = inside(`.${key}`, () => read(own));
      if (item !== undefined) result[key] = item;
    }
    return result as Value;
  };
}

export function array<Item>(read: Reader<Item>, most: number): Reader<Item[]> {
  return (value) => {
    if (!Array.isArray(value)) throw new Mismatch(value === undefined ? "is missing" : "must be a list");
    if (value.length > most) throw new Mismatch(`has ${value.length} entries, ${most} at most`);
    return value.map((item, index) => inside(`[${index}]`, () => read(item)));
  };
}

export function optional<Value>(read: Reader<Value>): Reader<Value | undefined> {
  return (value) => (value === undefined ? undefined : read(value));
}

export function oneOf<Value extends string | number>(...values: readonly Value[]): Reader<Value> {
  return (value) => {
    if (!values.includes(value as Value)) throw missingOr(value, `must be ${values.join(", ")}`);
    return value as Value;
  };
}

/** Any finite number. */
export const number: Reader<number> = (value) => {
  if (typeof value !== "number" || !Number.isFinite(value)) throw missingOr(value, "must be a number");
  return value;
};

/** No time in ms, no bytes and no rate come near it; sums of many stay finite. */
const LARGEST = 1e18;

/** From 0 up. */
export const amount: Reader<number> = (value) => {
  if (number(value) < 0) throw new Mismatch("must not be negative");
  if (number(value) > LARGEST) throw new Mismatch("must be a number of sane size");
  return value as number;
};

export const count: Reader<number> = (value) => {
  if (!Number.isSafeInteger(amount(value))) throw new Mismatch("must be a whole number");
  return value as number;
};

export const flag: Reader<boolean> = (value) => {
  if (typeof value !== "boolean") throw missingOr(value, "must be true or false");
  return value;
};

const LONGEST_TEXT = 4096;

/** In one line: without control characters, and not longer than a path may be. */
export const line: Reader<string> = (value) => {
  if (typeof value !== "string") throw missingOr(value, "must be text");
  if (value.length > LONGEST_TEXT) throw new Mismatch(`is longer than ${LONGEST_TEXT} characters`);
  if (/[\p{Cc}\u2028-\u202e\u2066-\u2069]/u.test(value)) throw new Mismatch("has control characters in it");
  return value;
};

function missingOr(value: unknown, message: string): Mismatch {
  return new Mismatch(value === undefined ? "is missing" : message);
}

function inside<Value>(step: string, read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    if (error instanceof Mismatch) error.path = step + error.path;
    throw error;
  }
}
