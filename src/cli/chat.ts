import { Command, Option } from "commander";
import type { KvType } from "../kernels/types.ts";
import type { SessionEntry } from "../session-store/list.ts";
import { chatLoop } from "./chat-loop.ts";
import { THINK_MODES, type ThinkMode } from "./chat-settings.ts";
import { addDraftOption, type DraftFlags } from "./draft-option.ts";
import { addEngineOptions, type EngineFlags } from "./engine-options.ts";
import { addUnpackOptions, type UnpackFlags } from "./ensure-unpacked.ts";
import { BUNDLED_MODEL, chooseModel, MODEL_ARGUMENT } from "./model-argument.ts";
import { addGenerationOptions, type GenerationFlags, samplingOptions } from "./options.ts";
import { type Overflow, overflowOption } from "./overflow.ts";
import { addPromptCacheOption, openPromptCache, type PromptCacheFlags } from "./prompt-cache.ts";
import { findResumption } from "./resume.ts";
import { resolveSessions } from "./session-options.ts";
import type { TalkOptions } from "./talk.ts";
import { addTemplateOptions, type TemplateFlags } from "./template-options.ts";
import { addTimingsOption } from "./timings-file.ts";
import { withModel } from "./with-model.ts";

type ChatFlags = GenerationFlags &
  TemplateFlags &
  EngineFlags &
  DraftFlags &
  UnpackFlags &
  PromptCacheFlags & {
    readonly model?: string;
    readonly system?: string;
    readonly resume?: string | true;
    readonly verbose?: boolean;
    readonly overflow: Overflow;
    readonly think?: ThinkMode;
  };

export function chatCommand(): Command {
  const command = new Command("chat")
    .description(
      "Chat with a model; without one, with the small model that comes with sluice. Not on a terminal, each line of stdin is a turn.",
    )
    .argument("[model]", MODEL_ARGUMENT)
    .option("-m, --model <file>", "the model, as an option")
    .option("--system <text>", "system message")
    .option(
      "--resume [name]",
      "go on with a saved conversation; without a name, with the last one (see `sluice sessions ls`)",
    );
  const think = new Option(
    "--think <how>",
    "thoughts of the model: shown (on), none (off), or hidden (hide)",
  );
  addGenerationOptions(command)
    .addOption(overflowOption())
    .addOption(think.choices(THINK_MODES))
    .option("--verbose", "print times after every answer");
  addTemplateOptions(command);
  addPromptCacheOption(command);
  addTimingsOption(command);
  return addUnpackOptions(addDraftOption(addEngineOptions(command))).action(
    async (argument: string | undefined, flags: ChatFlags) => {
      const sampling = samplingOptions(flags, command);
      const { path, entry } = await chooseConversation(argument, flags, command);
      const options: TalkOptions = {
        system: flags.system ?? "",
        sampling,
        maxTokens: flags.predict >= 0 ? flags.predict : undefined,
        overflow: flags.overflow,
        think: flags.think,
        // One day for the whole conversation: with another in the system prompt all would be computed again.
        template: { ...flags, date: flags.date ?? new Date() },
        verbose: flags.verbose === true,
      };
      const given = new Set(
        Object.keys(flags).filter((name) => command.getOptionValueSource(name) === "cli"),
      );
      await withModel(path, { ...flags, ...savedKv(entry, flags, command) }, (model) =>
        chatLoop(
          model,
          { ...options, promptCache: openPromptCache(model, flags) },
          { resume: entry, given, named: argument ?? flags.model },
        ),
      );
    },
  );
}

/** The model, and the conversation to go on with where one is asked for. */
async function chooseConversation(
  argument: string | undefined,
  flags: ChatFlags,
  command: Command,
): Promise<{ readonly path: string; readonly entry?: SessionEntry }> {
  const path = chooseModel(argument, flags.model, command, BUNDLED_MODEL);
  if (flags.resume === undefined) return { path };
  const given = (argument ?? flags.model) === undefined ? undefined : path;
  const { model, entry } = await findResumption(resolveSessions(), flags.resume, given, flags);
  return { path: model, ...(entry && { entry }) };
}

/** The type of KV cache that was saved, where no other is asked for and this sluice has it. */
function savedKv(entry: SessionEntry | undefined, { kv }: EngineFlags, command: Command): EngineFlags {
  const type = entry?.head?.model.kv.type;
  const known = command.options.find((option) => option.attributeName() === "kv")?.argChoices;
  return kv === undefined && type !== undefined && known?.includes(type) ? { kv: type as KvType } : {};
}
