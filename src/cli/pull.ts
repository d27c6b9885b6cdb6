import { Command } from "commander";
import { formatBytes } from "../format-bytes.ts";
import { pullModel } from "../hub/pull.ts";
import type { PullResult } from "../hub/types.ts";
import { withCommandName } from "./command-name.ts";
import { hubSettings } from "./hub-settings.ts";
import { interruptSignal } from "./interrupt.ts";
import { print } from "./note.ts";
import { formatDuration } from "./progress-bars.ts";
import { PullView } from "./pull-view.ts";
import { tell } from "./tell.ts";

/** What is pulled where nothing is named. */
const DEFAULT_MODEL = "hf:ggml-org/SmolLM3-3B-GGUF:Q8_0";

const EXAMPLES = `
Examples:
  sluice pull                                       ${DEFAULT_MODEL}, 3.3 GB
  sluice pull hf:ggml-org/SmolLM3-3B-GGUF:Q4_K_M    one quant of a repository
  sluice pull hf:HuggingFaceTB/SmolLM2-135M         safetensors, where there is no GGUF
  sluice chat hf:ggml-org/SmolLM3-3B-GGUF:Q4_K_M    what was pulled has the same name everywhere

QUANT is a part of the file's name, in any case. Without it the only GGUF file of the repository is taken, or that of
Q4_K_M. Killed or cut off at any moment, the same command goes on with what has arrived.

HF_TOKEN (or the token of hf auth login) is for repositories that are gated or not public. HF_HUB_CACHE or HF_HOME say
where the cache is, HF_ENDPOINT names another hub, HF_HUB_OFFLINE=1 asks nobody.`;

export function pullCommand(): Command {
  return new Command("pull")
    .description(
      "Download a model from Hugging Face into the cache that other programs share, and print its path. Parts of a split model come together.",
    )
    .argument("[name]", `hf:ORG/REPO[:QUANT] (default: ${DEFAULT_MODEL})`)
    .addHelpText("after", EXAMPLES)
    .action(async (name: string = DEFAULT_MODEL) => {
      const view = new PullView();
      let result: PullResult;
      try {
        result = await pullModel(name, {
          ...hubSettings(),
          signal: interruptSignal,
          onProgress: view.onProgress,
        });
      } finally {
        view.end();
      }
      tell(withCommandName(summary(result).join("\n")));
      print(`${result.path}\n`);
    });
}

function summary({ name, bytes, receivedBytes, reused, ms }: PullResult): string[] {
  if (reused) return [`${name} is here already${bytes > 0 ? `, ${formatBytes(bytes)}` : ""}.`];
  const received = receivedBytes < bytes ? `, ${formatBytes(receivedBytes)} of it now` : "";
  return [
    `Pulled ${name}, ${formatBytes(bytes)}${received}, in ${formatDuration(ms / 1000)}; its checksums are right.`,
    `\`sluice chat ${name}\` talks with it.`,
  ];
}
