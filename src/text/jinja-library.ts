import * as library from "@huggingface/jinja";

// The type declarations of @huggingface/jinja name its modules without file endings, which TypeScript's nodenext
// resolution does not find. This is the part of it that is used here.

/** A value while a template runs: `StringValue`, `IntegerValue`, `ArrayValue`, `ObjectValue`, … */
export interface RuntimeValue {
  readonly type: string;
  readonly value: unknown;
  /** Methods by name. */
  readonly builtins: Map<string, RuntimeValue>;
}

/** A node of the syntax tree; its other fields depend on the type. */
export interface SyntaxNode {
  readonly type: string;
  readonly [field: string]: unknown;
}

export interface JinjaEnvironment {
  /** Declare a variable, converted from JavaScript; gives the converted value. */
  set(name: string, value: unknown): RuntimeValue;
}

interface JinjaInterpreter {
  run(program: SyntaxNode): RuntimeValue;
  /** Called for every node that is evaluated. */
  evaluate(node: SyntaxNode, environment: JinjaEnvironment): RuntimeValue;
}

interface Library {
  readonly Environment: new () => JinjaEnvironment;
  readonly Interpreter: new (environment: JinjaEnvironment) => JinjaInterpreter;
  tokenize(source: string, options: { trim_blocks: boolean; lstrip_blocks: boolean }): unknown;
  parse(tokens: unknown): SyntaxNode;
}

export const { Environment, Interpreter, tokenize, parse } = library as unknown as Library;

/** A JavaScript value (string, list, function, …) as the templates see it. */
export function runtimeValue(value: unknown): RuntimeValue {
  return new Environment().set("value", value);
}
