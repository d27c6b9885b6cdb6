import { Command } from "commander";
import { createChatTemplate } from "../text/chat-template.ts";
import { parseMessages } from "../text/messages.ts";
import { promptOf } from "../text/prompt.ts";
import { createTokenizer } from "../text/tokenizer.ts";
import { MODEL_ARGUMENT, modelOrBundled } from "./model-argument.ts";
import { readTokenizerData } from "./model-file.ts";
import { note, print } from "./note.ts";
import { printableJson, printableLine } from "./printable.ts";
import { readText } from "./read-input.ts";
import { addTemplateOptions, type TemplateFlags, templateSettings } from "./template-options.ts";

type RenderFlags = TemplateFlags & {
  readonly model?: string;
  readonly messages?: string;
  readonly generationPrompt: boolean;
  readonly json?: boolean;
};

export function renderCommand(): Command {
  const command = new Command("render")
    .description("Show what the chat template makes of a conversation: the text that the model gets to read.")
    .argument("[model]", MODEL_ARGUMENT)
    .option("-m, --model <file>", "the model, as an option")
    .option(
      "--messages <file>",
      "JSON list of messages; - reads it from stdin, as does no file at all where stdin is no terminal",
    )
    .option("--no-generation-prompt", "do not open the model's turn at the end")
    .option("--json", "as one JSON object of text and token ids");
  return addTemplateOptions(command).action((argument: string | undefined, flags: RenderFlags) =>
    render(modelOrBundled(argument, flags.model, command), flags, command),
  );
}

const NO_MESSAGES =
  "error: no messages: give --messages FILE, or a JSON list of them on stdin, as in " +
  `[{"role": "user", "content": "Hello"}]`;

async function render(path: string, flags: RenderFlags, command: Command): Promise<void> {
  if (flags.messages === undefined && process.stdin.isTTY) command.error(NO_MESSAGES);
  const from = flags.messages ?? "-";
  const json = await readText(from);
  if (json === "" && from === "-") command.error(NO_MESSAGES);
  const messages = parseMessages(json, from === "-" ? "stdin" : from);
  const data = readTokenizerData(path);
  const tokenizer = createTokenizer(data);
  const { template = createChatTemplate(data.chatTemplates["default"]), ...settings } =
    templateSettings(flags);
  const prompt = promptOf(template, tokenizer, {
    messages,
    addGenerationPrompt: flags.generationPrompt,
    ...settings,
  });
  if (template.fallback !== undefined) {
    note(`sluice: ${printableLine(template.fallback)}: using ChatML instead`);
  }
  print(flags.json ? `${printableJson(prompt)}\n` : prompt.text);
}
