import { Command } from "commander";
import { formatBytes } from "../format-bytes.ts";
import { findDownload, removeDownload } from "../hub/remove.ts";
import { confirm } from "./confirm.ts";
import { places } from "./model-argument.ts";
import { print } from "./note.ts";
import { printableLine } from "./printable.ts";

const EXAMPLES = `
Examples:
  sluice rm hf:ggml-org/SmolLM3-3B-GGUF:Q8_0    one quant
  sluice rm hf:ggml-org/SmolLM3-3B-GGUF         the only one that is here, and what is left of downloads that did not end

Files that other revisions or models of the repository use stay. What was unpacked stays too: see sluice cache rm.`;

export function rmCommand(): Command {
  const command = new Command("rm")
    .description(
      "Delete models that were downloaded into the Hugging Face cache, by sluice pull or other programs.",
    )
    .argument("<name...>", "hf:ORG/REPO[:QUANT]")
    .option("-y, --yes", "do not ask")
    .addHelpText("after", EXAMPLES);
  return command.action(async (names: readonly string[], { yes }: { readonly yes?: boolean }) => {
    const cacheDir = places().huggingFace;
    const downloads = [...new Set(names)].map((name) => findDownload(cacheDir, name));
    if (!yes) {
      if (!process.stdin.isTTY) command.error("error: without a terminal to ask on, deleting needs --yes");
      const list = downloads
        .map(
          ({ name, files }) => `  ${name}\n${files.map((file) => `    ${printableLine(file)}\n`).join("")}`,
        )
        .join("");
      const bytes = formatBytes(downloads.reduce((sum, download) => sum + download.bytes, 0));
      if (!(await confirm(`${list}Delete these, which frees ${bytes}? [y/N] `))) return;
    }
    for (const { name } of downloads) {
      // Another name on the line may have meant some of it, or been what kept a file that both use.
      const download = findDownload(cacheDir, name);
      removeDownload(download);
      print(`Deleted ${name}, ${formatBytes(download.bytes)} freed\n`);
    }
  });
}
