import { Command } from "commander";
import { chatLoop } from "./chat-loop.ts";
import { addEngineOptions, type EngineFlags } from "./engine-options.ts";
import { addUnpackOptions, type UnpackFlags } from "./ensure-unpacked.ts";
import { BUNDLED_MODEL, chooseModel } from "./model-argument.ts";
import { addGenerationOptions, type GenerationFlags, samplingOptions } from "./options.ts";
import { addTemplateOptions, type TemplateFlags } from "./template-options.ts";
import { addTimingsOption } from "./timings-file.ts";
import { withModel } from "./with-model.ts";

type ChatFlags = GenerationFlags &
  TemplateFlags &
  EngineFlags &
  UnpackFlags & { readonly model?: string; readonly system?: string; readonly verbose?: boolean };

export function chatCommand(): Command {
  const command = new Command("chat")
    .description(
      "Chat with a model; without one, with the small model that comes with sluice. Not on a terminal, each line of stdin is a turn.",
    )
    .argument("[model]", "GGUF file, or the folder of an unpacked model")
    .option("-m, --model <file>", "GGUF file, as an option")
    .option("--system <text>", "system message");
  addGenerationOptions(command).option("--verbose", "print times after every answer");
  addTemplateOptions(command);
  addTimingsOption(command);
  return addUnpackOptions(addEngineOptions(command)).action(
    async (argument: string | undefined, flags: ChatFlags) => {
      const sampling = samplingOptions(flags, command);
      const path = chooseModel(argument, flags.model, command, BUNDLED_MODEL);
      await withModel(path, flags, (model) =>
        chatLoop(model, {
          system: flags.system ?? "",
          sampling,
          maxTokens: flags.predict >= 0 ? flags.predict : undefined,
          template: flags,
          verbose: flags.verbose === true,
        }),
      );
    },
  );
}
