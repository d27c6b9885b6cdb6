import type { RuntimeValue } from "./jinja-library.ts";

// What Python's strings do in templates where @huggingface/jinja does something else, or nothing.

type Method = (text: string, ...args: unknown[]) => unknown;

/** Methods of str by name. Of the values of a template, strings, numbers, booleans and null arrive as such. */
export const STRING_METHODS: Readonly<Record<string, Method>> = {
  strip: (text, characters) => stripEnd(stripStart(text, characters), characters),
  lstrip: stripStart,
  rstrip: stripEnd,
  capitalize: (text) => text.slice(0, 1).toUpperCase() + text.slice(1).toLowerCase(),
  format: formatText,
};

function stripStart(text: string, characters: unknown): string {
  if (typeof characters !== "string") return text.trimStart();
  let from = 0;
  while (from < text.length && characters.includes(text[from])) from++;
  return text.slice(from);
}

function stripEnd(text: string, characters: unknown): string {
  if (typeof characters !== "string") return text.trimEnd();
  let to = text.length;
  while (to > 0 && characters.includes(text[to - 1])) to--;
  return text.slice(0, to);
}

/** str.format with `{}`, `{0}`, `{name}` and doubled braces; named values come as a map after the others. */
function formatText(text: string, ...args: unknown[]): string {
  const last = args.at(-1);
  const named = last instanceof Map ? (last as Map<string, RuntimeValue>) : new Map<string, RuntimeValue>();
  let next = 0;
  return text.replace(/\{\{|\}\}|\{(\w*)\}/g, (field, name?: string) => {
    if (name === undefined) return field[0];
    const value = /^\d*$/.test(name) ? args[name === "" ? next++ : Number(name)] : named.get(name)?.value;
    if (value === undefined || value instanceof Map) throw new Error(`format() has no value for "${field}"`);
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
