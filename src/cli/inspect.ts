import { Command, Option } from "commander";
import { openModel } from "../hf/open-model.ts";
import { glyphsFor } from "./glyphs.ts";
import { inspectJson } from "./inspect-json.ts";
import { layoutLines } from "./inspect-layout.ts";
import { inspectText } from "./inspect-text.ts";
import { MODEL_FILE_ARGUMENT, modelOrBundled } from "./model-argument.ts";
import { checkIsNoFolder } from "./model-file.ts";
import { print } from "./note.ts";

interface Flags {
  readonly model?: string;
  readonly layout?: boolean;
  readonly json?: boolean;
  readonly verbose?: boolean;
}

export function inspectCommand(): Command {
  const command = new Command("inspect")
    .description(
      "Show what a model file is: its shape, whether sluice runs it and with which --dtype, the disk and memory that takes, types by layer, metadata, tensors.",
    )
    .argument("[model]", MODEL_FILE_ARGUMENT)
    .option("-m, --model <file>", "the model, as an option")
    .addOption(
      new Option("--layout", "draw the file instead: header, metadata, tensors, gaps, all parts").conflicts(
        "json",
      ),
    )
    .option("--json", "everything as one JSON object, the layout too")
    .option("--verbose", "with --layout: every tensor and gap; when it fails, print where")
    .action((argument: string | undefined, flags: Flags) => {
      const { layout, json, verbose = false } = flags;
      const path = modelOrBundled(argument, flags.model, command);
      checkIsNoFolder(path);
      const gguf = openModel(path);
      try {
        const lines = layout ? layoutLines(gguf, { verbose, glyphs: glyphsFor(process.env) }) : undefined;
        print(`${lines?.join("\n") ?? (json ? inspectJson(gguf) : inspectText(gguf))}\n`);
      } finally {
        gguf.close();
      }
    });
  return command;
}
