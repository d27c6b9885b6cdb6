import { formatBytes } from "../../format-bytes.ts";
import { printableLine } from "../printable.ts";
import type { Talk } from "../talk.ts";
import { tell } from "../tell.ts";
import { thinkSwitch } from "../thinking.ts";
import type { ChatCommand } from "./command.ts";

export const model: ChatCommand = {
  name: "model",
  summary: "which model this is, and how it runs",
  rare: true,
  run: (talk) => tell(modelLines(talk).join("\n")),
};

function modelLines({ model, templateSource }: Talk): string[] {
  const { manifest, folder, contextLength } = model;
  const { name, architecture, layers, contextLength: trained } = manifest.model;
  const { ringBytes, residentBytes, streamedBytes, threads, kvType } = model.memory();
  const switchName = thinkSwitch(templateSource);
  const own = templateSource === model.template.source ? "the model's" : "from a file";
  const template = templateSource === undefined ? "none (ChatML)" : own;
  return [
    `model      ${printableLine(name)} (${printableLine(architecture)}, ${layers.length} layers)`,
    `unpacked   ${printableLine(folder)}`,
    `weights    ${manifest.dtype}: ${formatBytes(streamedBytes)} from disk for every token, ${formatBytes(residentBytes)} stay in memory, ring of ${formatBytes(ringBytes)}`,
    `context    ${contextLength} tokens${trained > 0 ? ` (trained for ${trained})` : ""}, KV cache in ${kvType}`,
    `template   ${template}${switchName === undefined ? "" : `, thinking is switched by ${switchName}`}`,
    `threads    ${threads}`,
  ];
}
