import type { RenderBudget } from "./jinja-budget.ts";
import { type RuntimeValue, runtimeValue, type SyntaxNode } from "./jinja-library.ts";
import { pythonText, STRING_METHODS } from "./python-text.ts";

// Published templates rely on things that Python's Jinja does and @huggingface/jinja does not. Each is mended where
// the value in question is made: an adapter belongs to a node of the syntax tree and sees what it evaluated to.

export type Adapter = (value: RuntimeValue, budget: RenderBudget) => RuntimeValue;

const MAX_INDENT = 1000;
const MAX_LINES = 1 << 16;

/** Filters that are given a list; the others are given a text. */
const LIST_FILTERS = new Set([
  ...["first", "items", "join", "last", "length", "list", "map", "reject", "rejectattr", "reverse"],
  ...["select", "selectattr", "sort", "unique"],
]);
/** Filters that compare the values of a list. */
const COMPARING = new Set(["sort", "unique"]);
/** Filters that have their own opinion of undefined. */
const UNDEFINED_FILTERS = new Set(["default", "tojson"]);

/** The adapters of a parsed template by the node that they belong to. */
export function findAdapters(program: SyntaxNode): Map<SyntaxNode, Adapter> {
  const adapters = new Map<SyntaxNode, Adapter>();
  for (const node of nodesOf(program)) {
    if (node.type === "For") adaptIterable(node["iterable"] as SyntaxNode, adapters);
    if (node.type === "FilterExpression") adaptFilter(node, adapters);
    if (node.type === "MemberExpression") adaptSlice(node, adapters);
    if (node.type === "CallExpression") adaptMethod(node["callee"] as SyntaxNode, adapters);
  }
  return adapters;
}

/** All nodes of a tree. The tree is as deep as the template nests, so this must not recurse. */
function nodesOf(program: SyntaxNode): SyntaxNode[] {
  const nodes: SyntaxNode[] = [];
  const open: unknown[] = [program];
  while (open.length > 0) {
    const value = open.pop();
    if (typeof value !== "object" || value === null) continue;
    if (value instanceof Map) open.push(...value.keys(), ...value.values());
    else open.push(...Object.values(value));
    if ("type" in value) nodes.push(value as SyntaxNode);
  }
  return nodes;
}

/** `for x in undefined` runs over nothing, `for c in "text"` over its characters. */
function adaptIterable(iterable: SyntaxNode, adapters: Map<SyntaxNode, Adapter>): void {
  const node = iterable.type === "SelectExpression" ? (iterable["lhs"] as SyntaxNode) : iterable;
  addAdapter(adapters, node, (value, budget) => {
    if (value.type === "UndefinedValue") return runtimeValue([]);
    if (typeof value.value === "string") budget.foresee(0, value.value.length);
    const list = value.type === "StringValue" ? runtimeValue(Array.from(String(value.value))) : value;
    // Going round takes its time, even with nothing in the loop.
    if (Array.isArray(list.value)) budget.spend(6 * list.value.length);
    return list;
  });
}

/** Undefined is an empty list or text to a filter, None an empty list; `string` is Python's str(); indentation is bounded. */
function adaptFilter(node: SyntaxNode, adapters: Map<SyntaxNode, Adapter>): void {
  const filter = node["filter"] as SyntaxNode;
  const call = filter.type === "CallExpression";
  const name = String((call ? (filter["callee"] as SyntaxNode) : filter)["value"]);
  if (name === "string") {
    addAdapter(adapters, node["operand"] as SyntaxNode, (value, budget) => {
      const text = pythonText(value);
      budget.spend(text.length >> 2);
      return runtimeValue(text);
    });
  } else if (!UNDEFINED_FILTERS.has(name)) {
    const ofLists = LIST_FILTERS.has(name);
    addAdapter(adapters, node["operand"] as SyntaxNode, (value) => {
      if (value.type === "UndefinedValue") return runtimeValue(ofLists ? [] : "");
      return value.type === "NullValue" && ofLists ? runtimeValue([]) : value;
    });
  }
  const args = call ? (filter["args"] as SyntaxNode[]) : [];
  addAdapter(adapters, node["operand"] as SyntaxNode, (value, budget) => {
    if (typeof value.value === "string") {
      const parts = LIST_FILTERS.has(name) && name !== "length" ? value.value.length : 0;
      budget.foresee(value.value.length, parts);
      if (name === "indent") checkLines(value.value);
    } else if (Array.isArray(value.value)) {
      budget.spend((COMPARING.has(name) ? 16 : 1) * value.value.length);
    }
    return value;
  });
  if (name === "join" && args.length > 0) adaptJoin(node["operand"] as SyntaxNode, args[0], adapters);
  if (name === "replace") adaptMethodOf(node["operand"] as SyntaxNode, name, adapters);
  if (call && (name === "indent" || name === "tojson")) {
    for (const argument of args) {
      addAdapter(adapters, argumentValue(argument), checkIndent);
    }
  }
}

function checkIndent(value: RuntimeValue): RuntimeValue {
  if (typeof value.value === "number" && value.value > MAX_INDENT) throw new Error("it indents too far");
  return value;
}

/** `text.rstrip("\n")` and other methods as Python has them. */
function adaptMethod(callee: SyntaxNode, adapters: Map<SyntaxNode, Adapter>): void {
  if (callee.type !== "MemberExpression" || callee["computed"]) return;
  const name = String((callee["property"] as SyntaxNode)["value"]);
  addAdapter(adapters, callee["object"] as SyntaxNode, (value, budget) => {
    if (typeof value.value === "string") budget.foresee(value.value.length);
    return value;
  });
  if (Object.hasOwn(STRING_METHODS, name)) adaptMethodOf(callee["object"] as SyntaxNode, name, adapters);
}

/** A slice takes its text or list apart first. */
function adaptSlice(node: SyntaxNode, adapters: Map<SyntaxNode, Adapter>): void {
  if ((node["property"] as SyntaxNode).type !== "SliceExpression") return;
  addAdapter(adapters, node["object"] as SyntaxNode, (value, budget) => {
    const { length } = (value.value ?? "") as { readonly length?: number };
    budget.spend(length ?? 0);
    return value;
  });
}

function adaptMethodOf(object: SyntaxNode, name: string, adapters: Map<SyntaxNode, Adapter>): void {
  addAdapter(adapters, object, (value, budget) => {
    if (value.type !== "StringValue") return value;
    const text = runtimeValue(value.value);
    const method = (...args: unknown[]) => STRING_METHODS[name](String(value.value), budget, ...args);
    text.builtins.set(name, runtimeValue(method));
    return text;
  });
}

/** How long a joined text becomes is known as soon as what parts it is. */
function adaptJoin(list: SyntaxNode, separator: SyntaxNode, adapters: Map<SyntaxNode, Adapter>): void {
  // What is between may join in turn.
  const lists: RuntimeValue[] = [];
  addAdapter(adapters, list, (value) => {
    lists.push(value);
    return value;
  });
  addAdapter(adapters, argumentValue(separator), (value, budget) => {
    const items: unknown = lists.pop()?.value;
    if (Array.isArray(items) && typeof value.value === "string")
      budget.foresee(
        items.reduce((sum, item: RuntimeValue) => sum + lengthOf(item), value.value.length * items.length),
      );
    return value;
  });
}

function lengthOf({ value }: RuntimeValue): number {
  return typeof value === "string" ? value.length : 1;
}

function checkLines(text: string): void {
  let lines = 0;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1))
    if (++lines > MAX_LINES) throw new Error("it indents too many lines");
}

/** The value of an argument, by name or not. */
function argumentValue(argument: SyntaxNode): SyntaxNode {
  return argument.type === "KeywordArgumentExpression" ? (argument["value"] as SyntaxNode) : argument;
}

/** What is mended already is handed on. */
function addAdapter(adapters: Map<SyntaxNode, Adapter>, node: SyntaxNode, adapter: Adapter): void {
  const before = adapters.get(node);
  adapters.set(node, before ? (value, budget) => adapter(before(value, budget), budget) : adapter);
}
