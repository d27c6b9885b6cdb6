import { Command } from "commander";
import { SluiceError } from "../errors.ts";
import { formatBytes } from "../format-bytes.ts";
import { openGguf } from "../gguf/open.ts";
import { partOf } from "../gguf/split.ts";
import type { Gguf } from "../gguf/types.ts";
import { planModel } from "../model/plan-model.ts";
import { buildTokenizerData } from "../text/build-tokenizer-data.ts";
import { formatTable } from "../timing/table.ts";
import { type ShownItem, type ShownValue, showValue } from "./inspect-metadata.ts";
import { chooseModel } from "./model-argument.ts";
import { print } from "./note.ts";
import { printableJson, printableLine } from "./printable.ts";

/** Characters of a value in the table of metadata: a chat template is longer than a screen. */
const VALUE_WIDTH = 100;

export function inspectCommand(): Command {
  const command = new Command("inspect")
    .description("Show what is in a GGUF file: header, metadata, tensors, and whether sluice can run it.")
    .argument("[model]", "GGUF file; of a split model any part, or the folder of its parts")
    .option("-m, --model <file>", "GGUF file, as an option")
    .option("--json", "as one JSON object")
    .action((argument: string | undefined, flags: { model?: string; json?: boolean }) => {
      const gguf = openGguf(chooseModel(argument, flags.model, command));
      try {
        print(`${flags.json ? inspectJson(gguf) : inspectText(gguf)}\n`);
      } finally {
        gguf.close();
      }
    });
  return command;
}

/** Why sluice cannot run this model; undefined where it can. */
export function whyNotRunnable(gguf: Gguf): string | undefined {
  try {
    planModel(gguf);
    buildTokenizerData(gguf);
    return undefined;
  } catch (error) {
    if (error instanceof SluiceError) return error.message;
    throw error;
  }
}

/** Everything about a file as one JSON object; arrays of more than 64 items are shown by their first 8. */
export function inspectJson(gguf: Gguf): string {
  const { path, fileBytes, version, alignment, headerBytes, parts, tensors } = gguf;
  const split = parts.length > 1;
  const reason = whyNotRunnable(gguf);
  return printableJson({
    path,
    bytes: fileBytes,
    version,
    alignment,
    headerBytes,
    ...(split && { parts: parts.map(({ path, bytes, headerBytes }) => ({ path, bytes, headerBytes })) }),
    runnable: reason === undefined,
    ...(reason !== undefined && { reason }),
    metadata: Object.fromEntries([...gguf.metadata].map(([key, entry]) => [key, showValue(gguf, entry)])),
    tensors: [...tensors.values()].map((tensor) => {
      if (!split) return tensor;
      const part = partOf(parts, tensor.offset);
      return { ...tensor, part: part + 1, offset: tensor.offset - parts[part].start };
    }),
    types: typeTotals(gguf),
  });
}

/** The same for people, in plain text. */
export function inspectText(gguf: Gguf): string {
  const { path, fileBytes, version, alignment, headerBytes, metadata, tensors, parts } = gguf;
  const split = parts.length > 1;
  const reason = whyNotRunnable(gguf);
  return [
    `${printableLine(path)}: GGUF version ${version}, ${fileBytes} bytes (${formatBytes(fileBytes)})`,
    ...(split ? partLines(gguf) : []),
    `header ${formatBytes(headerBytes)}, alignment ${alignment}`,
    reason === undefined ? "sluice can run it" : `sluice cannot run it: ${printableLine(reason)}`,
    "",
    `Metadata: ${metadata.size} keys`,
    ...[...metadata].map(([key, entry]) => `  ${printableLine(key)} = ${valueText(showValue(gguf, entry))}`),
    "",
    `Tensors: ${tensors.size}`,
    ...formatTable([
      ["  name", "type", "shape", ...(split ? ["part"] : []), "offset", "bytes"],
      ...[...tensors.values()].map(({ name, type, shape, offset, bytes }) => {
        const part = partOf(parts, offset);
        return [
          `  ${printableLine(name)}`,
          type,
          shape.join(" x "),
          ...(split ? [`${part + 1}`] : []),
          `${offset - parts[part].start}`,
          `${bytes}`,
        ];
      }),
    ]),
    "",
    "Types",
    ...formatTable([
      ["  type", "tensors", "weights", "size"],
      ...typeTotals(gguf).map(({ type, tensors, weights, bytes }) => [
        `  ${type}`,
        `${tensors}`,
        `${weights}`,
        formatBytes(bytes),
      ]),
    ]),
  ].join("\n");
}

function partLines({ parts }: Gguf): string[] {
  return [
    `split into ${parts.length} parts`,
    ...formatTable(
      parts.map(({ path, bytes }, index) => [`  ${index + 1}`, printableLine(path), formatBytes(bytes)]),
    ),
  ];
}

function valueText(shown: ShownValue): string {
  if ("value" in shown) return `${itemText(shown.value)}  (${shown.type})`;
  const items = "values" in shown ? shown.values : shown.first;
  const more = items.length < shown.length ? ", …" : "";
  return `[${items.map(itemText).join(", ")}${more}]  (${shown.length} ${shown.items})`;
}

function itemText(item: ShownItem): string {
  if (typeof item !== "string") return `${item}`;
  const text = printableLine(item.slice(0, VALUE_WIDTH));
  return item.length <= VALUE_WIDTH
    ? `"${text}"`
    : `"${text}…" and ${item.length - VALUE_WIDTH} more characters`;
}

interface TypeTotal {
  readonly type: string;
  readonly tensors: number;
  readonly weights: number;
  readonly bytes: number;
}

function typeTotals(gguf: Gguf): TypeTotal[] {
  const totals = new Map<string, TypeTotal>();
  for (const { type, shape, bytes } of gguf.tensors.values()) {
    const sum = totals.get(type) ?? { type, tensors: 0, weights: 0, bytes: 0 };
    const weights = sum.weights + shape.reduce((product, size) => product * size, 1);
    totals.set(type, { type, tensors: sum.tensors + 1, weights, bytes: sum.bytes + bytes });
  }
  return [...totals.values()].sort((a, b) => b.bytes - a.bytes);
}
