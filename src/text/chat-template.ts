import { SluiceError } from "../errors.ts";
import { compileTemplate, type Template, TemplateRefusal } from "./jinja.ts";
import { RenderBudget } from "./jinja-budget.ts";
import { parseProblem, plainMessage } from "./jinja-errors.ts";
import { fitMessages } from "./message-shapes.ts";
import { contentText } from "./messages.ts";
import type { ChatMessage } from "./types.ts";

export interface RenderOptions {
  readonly messages: readonly ChatMessage[];
  /** Open the assistant's turn at the end. Default true. */
  readonly addGenerationPrompt?: boolean;
  /** Texts of these tokens; templates print them. Default "". */
  readonly bosToken?: string;
  readonly eosToken?: string;
  /** Further variables (`enable_thinking`, `tools`, …); they overrule those above. */
  readonly variables?: Readonly<Record<string, unknown>>;
  /** The moment that the template sees. Default: now. */
  readonly now?: Date;
}

/** Turns a conversation into the text that the model was trained to see. */
export interface ChatTemplate {
  /** Its Jinja source; undefined where the model has none. */
  readonly source: string | undefined;
  /**
   * Why ChatML takes the place of the model's own template; undefined while that works. A template that parses may
   * still fail when it renders, so look again afterwards.
   */
  readonly fallback: string | undefined;
  /**
   * The text of a conversation.
   *
   * @throws SluiceError `bad-input` where the template itself turns the conversation down ("roles must alternate")
   */
  render(options: RenderOptions): string;
}

/**
 * A chat template from its Jinja source.
 *
 * A template that is absent, does not parse or fails is replaced with ChatML, and `fallback` tells why. What a
 * template refuses with `raise_exception` is an error: the user can do something about it.
 *
 * @param strict for a template that the user chose: its failures are errors as well (`bad-input`).
 * @example
 * const template = createChatTemplate(data.chatTemplates["default"]);
 * const text = template.render({ messages: [{ role: "user", content: "Hello" }] });
 */
export function createChatTemplate(source: string | undefined, { strict = false } = {}): ChatTemplate {
  let template: Template | undefined;
  let fallback: string | undefined;
  const fail = (problem: string, cause: unknown): void => {
    if (strict) throw failure(problem, cause);
    fallback = problem;
  };
  if (source === undefined) {
    fallback = "the model has no chat template";
  } else {
    try {
      template = compileTemplate(source);
    } catch (error) {
      fail(`the chat template does not parse: ${parseProblem(source, error as Error)}`, error);
    }
  }
  return {
    source,
    get fallback() {
      return fallback;
    },
    render(options) {
      if (template === undefined) return renderChatMl(options);
      try {
        const text = renderWith(template, options);
        fallback = undefined;
        return text;
      } catch (error) {
        if (error instanceof TemplateRefusal) throw refusal(error);
        fail(`the chat template fails: ${plainMessage(error)}`, error);
        return renderChatMl(options);
      }
    },
  };
}

function renderWith(template: Template, options: RenderOptions): string {
  const { messages, addGenerationPrompt = true, bosToken = "", eosToken = "", variables = {} } = options;
  const now = options.now ?? new Date();
  const budget = new RenderBudget();
  const render = (fitted: readonly ChatMessage[]): string => {
    const given = { messages: fitted, add_generation_prompt: addGenerationPrompt };
    return template.render({ ...given, bos_token: bosToken, eos_token: eosToken, ...variables }, now, budget);
  };
  return render(
    fitMessages(messages, (probe) => {
      try {
        return render(probe);
      } catch {
        return undefined;
      }
    }),
  );
}

/** The format that most chat models understand. */
function renderChatMl({ messages, addGenerationPrompt = true }: RenderOptions): string {
  const turns = messages.map((message) => `<|im_start|>${message.role}\n${contentText(message)}<|im_end|>\n`);
  return turns.join("") + (addGenerationPrompt ? "<|im_start|>assistant\n" : "");
}

function refusal(cause: TemplateRefusal): SluiceError {
  return new SluiceError("bad-input", `the model's chat template refuses these messages: ${cause.message}`, {
    next: "Change the messages accordingly.",
    cause,
  });
}

function failure(problem: string, cause: unknown): SluiceError {
  return new SluiceError("bad-input", problem, {
    next: "Correct the template, or leave it out to use the model's own.",
    cause,
  });
}
