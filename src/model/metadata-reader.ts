import { SluiceError } from "../errors.ts";
import { readNumbers } from "../gguf/arrays.ts";
import type { Gguf, MetadataValue } from "../gguf/types.ts";

const INTEGERS = new Set(["uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64"]);

interface Range {
  readonly min: number;
  readonly max: number;
}

/**
 * Reads the metadata of one model by the keys of its architecture: `block_count` is `llama.block_count`. What is absent
 * comes back as undefined; what is of another type or out of range is a `bad-model` error with the key in it.
 */
export class MetadataReader {
  readonly #gguf: Gguf;
  readonly architecture: string;

  constructor(gguf: Gguf) {
    this.#gguf = gguf;
    const architecture = this.string("general.architecture");
    if (architecture === undefined) {
      throw this.fail("general.architecture is missing, so this is not a language model");
    }
    this.architecture = architecture;
  }

  /** A string by its full key. */
  string(key: string): string | undefined {
    const entry = this.#gguf.metadata.get(key);
    if (entry === undefined) return undefined;
    if (entry.type !== "string") throw this.#wrongType(key, entry, "a string");
    return entry.value;
  }

  /** Items in an array by its full key; undefined where it is absent or no array. */
  arrayLength(key: string): number | undefined {
    const entry = this.#gguf.metadata.get(key);
    return entry?.type === "array" ? entry.length : undefined;
  }

  /** An integer of any width. */
  integer(name: string, range: Range): number | undefined {
    const [key, entry] = this.#find(name);
    if (entry === undefined) return undefined;
    if (!INTEGERS.has(entry.type)) throw this.#wrongType(key, entry, "an integer");
    return this.#inRange(key, Number((entry as { value: number | bigint }).value), range);
  }

  requiredInteger(name: string, range: Range): number {
    return this.integer(name, range) ?? this.#missing(name);
  }

  /** An integer; undefined too where the file has an array of them, one for each layer. */
  scalarInteger(name: string, range: Range): number | undefined {
    return this.#find(name)[1]?.type === "array" ? undefined : this.integer(name, range);
  }

  boolean(name: string): boolean | undefined {
    const [key, entry] = this.#find(name);
    if (entry === undefined) return undefined;
    if (entry.type !== "bool") throw this.#wrongType(key, entry, "a bool");
    return entry.value;
  }

  /** An integer of each layer: an array with one for each, or one for all. */
  perLayer(name: string, layers: number, range: Range): number[] | undefined {
    const [key, entry] = this.#find(name);
    if (entry === undefined) return undefined;
    if (entry.type !== "array") return new Array(layers).fill(this.integer(name, range));
    if (!INTEGERS.has(entry.items)) throw this.#wrongType(key, entry, "integers");
    if (entry.length !== layers) throw this.fail(`${key} has ${entry.length} items for ${layers} layers`);
    return Array.from(readNumbers(this.#gguf, entry), (value) => this.#inRange(key, value, range));
  }

  requiredPerLayer(name: string, layers: number, range: Range): number[] {
    return this.perLayer(name, layers, range) ?? this.#missing(name);
  }

  /** A finite number from zero up. */
  number(name: string): number | undefined {
    const [key, entry] = this.#find(name);
    if (entry === undefined) return undefined;
    if (entry.type !== "float32" && entry.type !== "float64") throw this.#wrongType(key, entry, "a float");
    if (!Number.isFinite(entry.value) || entry.value < 0)
      throw this.fail(`${key} is ${entry.value}; it must be a number from 0 up`);
    return entry.value;
  }

  /** A finite number above zero. */
  positive(name: string): number | undefined {
    const value = this.number(name);
    if (value === 0) throw this.fail(`${this.#find(name)[0]} is 0; it must be above 0`);
    return value;
  }

  requiredPositive(name: string): number {
    return this.positive(name) ?? this.#missing(name);
  }

  fail(problem: string): SluiceError {
    return new SluiceError("bad-model", `${this.#gguf.path}: ${problem}`, {
      next: "The file is damaged or was converted wrongly; download or convert it again.",
    });
  }

  #find(name: string): [key: string, entry: MetadataValue | undefined] {
    const key = `${this.architecture}.${name}`;
    return [key, this.#gguf.metadata.get(key)];
  }

  #inRange(key: string, value: number, { min, max }: Range): number {
    if (value < min || value > max) throw this.fail(`${key} is ${value}; it must be ${min} to ${max}`);
    return value;
  }

  #missing(name: string): never {
    throw this.fail(`${this.architecture}.${name} is missing`);
  }

  #wrongType(key: string, entry: MetadataValue, expected: string): SluiceError {
    const got = entry.type === "array" ? `array of ${entry.items}` : entry.type;
    return this.fail(`${key} is of type ${got}; it must be ${expected}`);
  }
}
