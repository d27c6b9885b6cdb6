import { formatBytes } from "../format-bytes.ts";
import { partOf } from "../gguf/split.ts";
import type { Gguf } from "../gguf/types.ts";
import { formatTable } from "../timing/table.ts";
import { type ShownItem, type ShownValue, showValue } from "./inspect-metadata.ts";
import { mixLines } from "./inspect-mix.ts";
import { judge, summaryLines } from "./inspect-summary.ts";
import { printableLine } from "./printable.ts";

/** Characters of a value in the table of metadata: a chat template is longer than a screen. */
const VALUE_WIDTH = 100;

/** A model file for people, in plain text: at a glance first, then metadata and tensors. */
export function inspectText(gguf: Gguf): string {
  return [
    ...fileLines(gguf),
    "",
    ...summaryLines(gguf, judge(gguf)),
    "",
    ...mixLines(gguf),
    "",
    `Metadata: ${gguf.metadata.size} keys`,
    ...[...gguf.metadata].map(
      ([key, entry]) => `  ${printableLine(key)} = ${valueText(showValue(gguf, entry))}`,
    ),
    "",
    `Tensors: ${gguf.tensors.size}`,
    ...tensorLines(gguf),
  ].join("\n");
}

function fileLines({ path, fileBytes, version, alignment, headerBytes, parts }: Gguf): string[] {
  return [
    `${printableLine(path)}: ${parts[0].derived ? "Hugging Face folder" : `GGUF version ${version}`}, ${fileBytes} bytes (${formatBytes(fileBytes)})`,
    ...(parts.length > 1 ? partLines(parts) : []),
    ...(parts[0].derived ? [] : [`header ${formatBytes(headerBytes)}, alignment ${alignment}`]),
  ];
}

function partLines(parts: Gguf["parts"]): string[] {
  return [
    parts[0].derived ? "in parts" : `split into ${parts.length} parts`,
    ...formatTable(
      parts.map(({ path, bytes, derived }, index) => [
        `  ${index + 1}`,
        `${printableLine(path)}${derived ? " and tokenizer.json, as GGUF has them" : ""}`,
        formatBytes(bytes),
      ]),
    ),
  ];
}

function tensorLines({ tensors, parts }: Gguf): string[] {
  const split = parts.length > 1;
  return formatTable([
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
  ]);
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
