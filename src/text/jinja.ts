import { type Adapter, findAdapters } from "./jinja-adapters.ts";
import { RenderBudget } from "./jinja-budget.ts";
import {
  Environment,
  Interpreter,
  type JinjaEnvironment,
  parse,
  type RuntimeValue,
  type SyntaxNode,
  tokenize,
} from "./jinja-library.ts";
import { strftime } from "./strftime.ts";

// Templates come with model files from anywhere: see jinja-budget.ts for how long and large one may get.
const MAX_SOURCE = 1 << 20;
/** The lexer's time grows with the square of a run of white space. */
const MAX_WHITE_RUN = 2000;
/** Jinja's own sandbox has the same limit. */
const MAX_RANGE = 100_000;

/** The template itself turned the conversation down, with `raise_exception`. */
export class TemplateRefusal extends Error {}

/** A compiled Jinja template. */
export interface Template {
  /**
   * Render with these variables. Throws `TemplateRefusal` for `raise_exception`, any other Error where the template
   * does something that cannot be done or goes beyond its budget.
   */
  render(variables: Readonly<Record<string, unknown>>, now: Date, budget?: RenderBudget): string;
}

/**
 * Compile a template as transformers does: `trim_blocks` and `lstrip_blocks` are on, `{% generation %}` is ignored,
 * and `raise_exception`, `strftime_now` and `range` are there. Throws an Error where the source does not parse.
 */
export function compileTemplate(source: string): Template {
  checkSource(source);
  const program = parse(tokenize(source, { trim_blocks: true, lstrip_blocks: true }));
  const adapters = findAdapters(program);
  return {
    render(variables, now, budget = new RenderBudget()) {
      const environment = new Environment();
      for (const [name, value] of Object.entries({ ...globals(now), ...variables })) {
        environment.set(name, value);
      }
      return String(new BoundedInterpreter(environment, adapters, budget).run(program).value);
    },
  };
}

function globals(now: Date): Record<string, unknown> {
  return {
    true: true,
    True: true,
    false: false,
    False: false,
    none: null,
    None: null,
    range,
    strftime_now: (format: unknown) => strftime(now, String(format)),
    raise_exception: (message: unknown) => {
      throw new TemplateRefusal(String(message));
    },
  };
}

/** Python's range(). */
function range(first: number, second?: number, step = 1): number[] {
  const [from, to] = second === undefined ? [0, first] : [first, second];
  const length = Math.max(0, Math.ceil((to - from) / step));
  // Also false for a step of zero and for what is no number.
  if (!(length <= MAX_RANGE)) throw new Error(`range(${first}, ${second}, ${step}) is too long`);
  return Array.from({ length }, (_, i) => from + i * step);
}

function checkSource(source: string): void {
  if (source.length > MAX_SOURCE) throw new Error(`it has ${source.length} characters`);
  for (let at = 0, run = 0; at < source.length; at++) {
    run = source[at].trim() === "" ? run + 1 : 0;
    if (run > MAX_WHITE_RUN) throw new Error("it has absurd runs of white space");
  }
}

/** Mends what comes out of each step, and keeps within bounds. */
class BoundedInterpreter extends Interpreter {
  readonly #adapters: ReadonlyMap<SyntaxNode, Adapter>;
  readonly #budget: RenderBudget;

  constructor(
    environment: JinjaEnvironment,
    adapters: ReadonlyMap<SyntaxNode, Adapter>,
    budget: RenderBudget,
  ) {
    super(environment);
    this.#adapters = adapters;
    this.#budget = budget;
  }

  override evaluate(node: SyntaxNode, environment: JinjaEnvironment): RuntimeValue {
    this.#budget.spend(1);
    const value = super.evaluate(node, environment);
    const adapt = this.#adapters.get(node);
    const adapted = adapt === undefined ? value : adapt(value, this.#budget);
    this.#budget.charge(adapted);
    return adapted;
  }
}
