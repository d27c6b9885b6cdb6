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
  readonly messages: string;
  readonly generationPrompt: boolean;
  readonly json?: boolean;
};

export function renderCommand(): Command {
  const command = new Command("render")
    .description("Show what the chat template makes of a conversation: the text that the model gets to read.")
    .argument("[model]", MODEL_ARGUMENT)
    .option("-m, --model <file>", "the model, as an option")
    .requiredOption("--messages <file>", "JSON list of messages; - reads it from stdin")
    .option("--no-generation-prompt", "do not open the model's turn at the end")
    .option("--json", "as one JSON object of text and token ids");
  return addTemplateOptions(command).action((argument: string | undefined, flags: RenderFlags) =>
    render(modelOrBundled(argument, flags.model, command), flags),
  );
}

async function render(path: string, flags: RenderFlags): Promise<void> {
  const json = await readText(flags.messages);
  const messages = parseMessages(json, flags.messages === "-" ? "stdin" : flags.messages);
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
