import { MAX_TEXT, type RenderBudget } from "./jinja-budget.ts";
import type { RuntimeValue } from "./jinja-library.ts";

// What Python's strings do in templates where @huggingface/jinja does something else, or nothing.

type Method = (text: string, budget: RenderBudget, ...args: unknown[]) => unknown;

/** Methods of str by name. Of the values of a template, strings, numbers, booleans and null arrive as such. */
export const STRING_METHODS: Readonly<Record<string, Method>> = {
  strip: (text, budget, characters) => stripEnd(stripStart(text, budget, characters), budget, characters),
  lstrip: stripStart,
  rstrip: stripEnd,
  capitalize: (text) => text.slice(0, 1).toUpperCase() + text.slice(1).toLowerCase(),
  format: formatText,
  replace: replaceText,
  split: (text, budget, separator, most) => {
    const parts = splitText(text, budget, separator, most);
    budget.foresee(0, parts.length);
    return parts;
  },
};

/** str.replace(old, new, count=-1): also what the filter does. */
function replaceText(text: string, budget: RenderBudget, old: unknown, by: unknown, count?: unknown): string {
  if (typeof old !== "string" || typeof by !== "string") throw new Error("replace() needs two texts");
  const most = limitOf(count, "count");
  const pieces: string[] = [];
  let [at, length, found] = [0, 0, 0];
  for (; found < most; found++) {
    const step = old !== "" || found === 0 ? 0 : (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
    const next = at + step > text.length ? -1 : text.indexOf(old, at + step);
    if (next < 0) break;
    length += next - at + by.length;
    // Each costs a step; how long it becomes is seen before it is made.
    budget.spend(1);
    if (length > MAX_TEXT) budget.foresee(length);
    pieces.push(text.slice(at, next), by);
    at = next + old.length;
  }
  budget.foresee(length + text.length - at);
  return pieces.join("") + text.slice(at);
}

/** str.split(sep=None, maxsplit=-1). */
function splitText(text: string, budget: RenderBudget, separator: unknown, most: unknown): string[] {
  const limit = limitOf(most, "maxsplit");
  const parts: string[] = [];
  const keep = (part: string) => {
    budget.spend(1);
    parts.push(part);
  };
  if (typeof separator !== "string") {
    let rest = text.trimStart();
    while (rest !== "") {
      const end = parts.length < limit ? rest.search(/\s/) : -1;
      keep(end < 0 ? rest : rest.slice(0, end));
      rest = end < 0 ? "" : rest.slice(end).trimStart();
    }
    return parts;
  }
  if (separator === "") throw new Error("empty separator");
  let at = 0;
  for (; parts.length < limit; ) {
    const next = text.indexOf(separator, at);
    if (next < 0) break;
    keep(text.slice(at, next));
    at = next + separator.length;
  }
  keep(text.slice(at));
  return parts;
}

/** A number of times, alone or by its name; without one, or a negative one, there is no limit. */
function limitOf(value: unknown, name: string): number {
  const given = value instanceof Map ? (value as Map<string, RuntimeValue>).get(name)?.value : value;
  return typeof given === "number" && given >= 0 ? given : Number.POSITIVE_INFINITY;
}

function stripStart(text: string, budget: RenderBudget, characters: unknown): string {
  if (typeof characters !== "string") return text.trimStart();
  let from = 0;
  while (from < text.length && characters.includes(text[from])) from++;
  budget.spend(from >> 2);
  return text.slice(from);
}

function stripEnd(text: string, budget: RenderBudget, characters: unknown): string {
  if (typeof characters !== "string") return text.trimEnd();
  let to = text.length;
  while (to > 0 && characters.includes(text[to - 1])) to--;
  budget.spend((text.length - to) >> 2);
  return text.slice(0, to);
}

/** str.format with `{}`, `{0}`, `{name}` and doubled braces; named values come as a map after the others. */
function formatText(text: string, budget: RenderBudget, ...args: unknown[]): string {
  const last = args.at(-1);
  const named = last instanceof Map ? (last as Map<string, RuntimeValue>) : new Map<string, RuntimeValue>();
  let next = 0;
  let length = text.length;
  return text.replace(/\{\{|\}\}|\{(\w*)\}/g, (field, name?: string) => {
    if (name === undefined) return field[0];
    const value = /^\d*$/.test(name) ? args[name === "" ? next++ : Number(name)] : named.get(name)?.value;
    if (value === undefined || value instanceof Map) throw new Error(`format() has no value for "${field}"`);
    length += String(value).length;
    budget.foresee(length);
    return String(value);
  });
}

/** Python's str() of a value: what a template prints for a list, a dict, None or True. */
export function pythonText(value: RuntimeValue): string {
  return value.type === "StringValue" ? String(value.value) : pythonRepresentation(value);
}

function pythonRepresentation(value: RuntimeValue): string {
  switch (value.type) {
    case "StringValue":
      return quote(String(value.value));
    case "NullValue":
      return "None";
    case "UndefinedValue":
      return "";
    case "BooleanValue":
      return value.value ? "True" : "False";
    case "ArrayValue":
      return `[${(value.value as RuntimeValue[]).map(pythonRepresentation).join(", ")}]`;
    case "TupleValue": {
      const items = (value.value as RuntimeValue[]).map(pythonRepresentation);
      return items.length === 1 ? `(${items[0]},)` : `(${items.join(", ")})`;
    }
    case "ObjectValue": {
      const entries = [...(value.value as Map<string, RuntimeValue>)];
      return `{${entries.map(([key, item]) => `${quote(key)}: ${pythonRepresentation(item)}`).join(", ")}}`;
    }
    default:
      return String(value);
  }
}

function quote(text: string): string {
  const mark = text.includes("'") && !text.includes('"') ? '"' : "'";
  const named: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\" };
  const escaped = text.replace(/[\\\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]|['"]/gu, (character) => {
    if (character === "'" || character === '"') return character === mark ? `\\${character}` : character;
    return named[character] ?? escapeCode(character.codePointAt(0)!);
  });
  return mark + escaped + mark;
}

function escapeCode(point: number): string {
  if (point < 0x100) return `\\x${point.toString(16).padStart(2, "0")}`;
  return point < 0x10000
    ? `\\u${point.toString(16).padStart(4, "0")}`
    : `\\U${point.toString(16).padStart(8, "0")}`;
}
