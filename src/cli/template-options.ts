import { type Command, InvalidArgumentError, Option } from "commander";
import { type ChatTemplate, createChatTemplate } from "../text/chat-template.ts";
import { TEMPLATE_PATH } from "./output-target.ts";
import { readText } from "./read-input.ts";

export interface TemplateFlags {
  readonly chatTemplateFile?: ChatTemplate;
  readonly chatTemplateKwargs?: Readonly<Record<string, unknown>>;
  readonly date?: Date;
}

/** Options of how messages become text, for every command that uses a chat template. */
export function addTemplateOptions(command: Command): Command {
  return command
    .addOption(new Option("--chat-template-file <file>", "Jinja template to use instead of the model's"))
    .addOption(
      new Option(
        "--chat-template-kwargs <json>",
        'variables for the template, as {"enable_thinking": false}',
      ).argParser(parseVariables),
    )
    .addOption(
      new Option("--date <day>", "the day that the template sees, as 2025-07-10 (default: today)").argParser(
        parseDay,
      ),
    )
    .hook("preAction", async (acting) => {
      const path: string | undefined = acting.getOptionValue("chatTemplateFile");
      if (path === undefined) return;
      acting.setOptionValue(TEMPLATE_PATH, path);
      acting.setOptionValue("chatTemplateFile", await readTemplate(path));
    });
}

/** What the options ask for, to be spread over the options of `ChatTemplate.render`; `template` where one was given. */
export function templateSettings(flags: TemplateFlags): {
  readonly template?: ChatTemplate;
  readonly variables?: Readonly<Record<string, unknown>>;
  readonly now?: Date;
} {
  const { chatTemplateFile, chatTemplateKwargs, date } = flags;
  return {
    ...(chatTemplateFile && { template: chatTemplateFile }),
    ...(chatTemplateKwargs && { variables: chatTemplateKwargs }),
    ...(date && { now: date }),
  };
}

async function readTemplate(path: string): Promise<ChatTemplate> {
  return createChatTemplate(await readText(path), { strict: true });
}

function parseVariables(json: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (error) {
    throw new InvalidArgumentError(`It is not JSON: ${(error as Error).message}.`);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new InvalidArgumentError("It must be a JSON object.");
  }
  return value as Record<string, unknown>;
}

function parseDay(text: string): Date {
  const [, year, month, day] = (/^(\d{4})-(\d{2})-(\d{2})$/.exec(text) ?? []).map(Number);
  const date = new Date(year, month - 1, day, 12);
  if (date.getMonth() !== month - 1 || date.getDate() !== day) {
    throw new InvalidArgumentError("It must be a day like 2025-07-10.");
  }
  return date;
}
