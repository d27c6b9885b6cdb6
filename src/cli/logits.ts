import { endianness } from "node:os";
import { Command } from "commander";
import type { Model } from "../engine/model.ts";
import { SluiceError } from "../errors.ts";
import { addEngineOptions, type EngineFlags } from "./engine-options.ts";
import { addUnpackOptions, type UnpackFlags } from "./ensure-unpacked.ts";
import { interruptSignal } from "./interrupt.ts";
import { LiveLine } from "./live-line.ts";
import { MODEL_ARGUMENT, modelOrBundled } from "./model-argument.ts";
import { note } from "./note.ts";
import { protectInputs } from "./output-target.ts";
import { withModel } from "./with-model.ts";
import { writeOutput } from "./write-output.ts";

type LogitsFlags = EngineFlags &
  UnpackFlags & { readonly model?: string; readonly ids: string; readonly out: string };

export function logitsCommand(): Command {
  const command = new Command("logits")
    .description(
      "Write the logits after every token as float32, little-endian, (positions, vocabulary), to compare with other engines.",
    )
    .argument("[model]", MODEL_ARGUMENT)
    .option("-m, --model <file>", "the model, as an option")
    .requiredOption("--ids <list>", "token ids, separated by commas")
    .requiredOption("--out <file>", "file to write; - for stdout");
  return protectInputs(addUnpackOptions(addEngineOptions(command)), "out").action(
    (argument: string | undefined, flags: LogitsFlags) => {
      const path = modelOrBundled(argument, flags.model, command);
      const ids = parseIds(flags.ids, command);
      if (flags.out === "-" && process.stdout.isTTY) {
        command.error("error: binary output does not go to a terminal: give --out FILE");
      }
      return withModel(path, flags, (model) => writeLogits(model, ids, flags.out));
    },
  );
}

async function writeLogits(model: Model, ids: readonly number[], path: string): Promise<void> {
  checkIds(ids, model);
  const layers = model.manifest.model.layers.length;
  const live = new LiveLine(process.stderr);
  try {
    await writeOutput(path, (write) =>
      model.logits(ids, {
        signal: interruptSignal,
        onProgress: (layer, done) =>
          live.show(() => [`token ${done}/${ids.length} · layer ${layer}/${layers}`]),
        onRow: (_position, logits) => write(littleEndian(logits)),
      }),
    );
  } finally {
    live.clear();
  }
  if (path !== "-")
    note(
      `The logits are ${path}: ${ids.length} positions of ${model.manifest.model.vocabulary} float32 values`,
    );
}

function parseIds(list: string, command: Command): number[] {
  const ids = list.split(",").map((part) => (/^\s*\d+\s*$/.test(part) ? Number(part) : Number.NaN));
  if (!ids.every(Number.isSafeInteger)) {
    command.error(`error: --ids must be whole numbers separated by commas, as in 1,2,3`);
  }
  return ids;
}

function checkIds(ids: readonly number[], { contextLength, manifest }: Model): void {
  const { vocabulary } = manifest.model;
  const foreign = ids.find((id) => id >= vocabulary);
  if (foreign !== undefined) {
    throw new SluiceError("bad-input", `token ${foreign} is not in the vocabulary of ${vocabulary} tokens`, {
      next: `Give ids from 0 to ${vocabulary - 1}.`,
    });
  }
  if (ids.length > contextLength) {
    throw new SluiceError(
      "context-full",
      `${ids.length} ids, and the context holds ${contextLength} tokens`,
      {
        next: "Give fewer ids.",
      },
    );
  }
}

/** Bytes of float32 values in little-endian order, whatever the machine's; they share memory where they can. */
function littleEndian(values: Float32Array): Uint8Array {
  const bytes = Buffer.from(values.buffer, values.byteOffset, values.byteLength);
  return endianness() === "LE" ? bytes : Buffer.from(bytes).swap32();
}
