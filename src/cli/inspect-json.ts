import { fileLayout } from "../gguf/layout.ts";
import { partOf } from "../gguf/split.ts";
import type { Gguf } from "../gguf/types.ts";
import { countParameters } from "../plan/needs.ts";
import { showValue } from "./inspect-metadata.ts";
import { quantMix, typeTotals } from "./inspect-mix.ts";
import { judge } from "./inspect-summary.ts";
import { printableJson } from "./printable.ts";

/** Everything about a model file as one JSON object; arrays of more than 64 items are shown by their first 8. */
export function inspectJson(gguf: Gguf): string {
  const { path, fileBytes, version, alignment, headerBytes, parts, tensors } = gguf;
  const split = parts.length > 1;
  const { reason, next, subject, context, needs, recommended } = judge(gguf);
  return printableJson({
    path,
    bytes: fileBytes,
    ...(parts[0].derived ? {} : { version }),
    alignment,
    headerBytes,
    ...(split && { parts: parts.map(({ path, bytes, headerBytes }) => ({ path, bytes, headerBytes })) }),
    runnable: reason === undefined,
    ...(reason !== undefined && { reason, next }),
    ...(subject && { model: subject.plan.model, parameters: countParameters(subject.plan) }),
    ...(needs && { recommended, context, needs }),
    metadata: Object.fromEntries([...gguf.metadata].map(([key, entry]) => [key, showValue(gguf, entry)])),
    tensors: [...tensors.values()].map((tensor) => {
      if (!split) return tensor;
      const part = partOf(parts, tensor.offset);
      return { ...tensor, part: part + 1, offset: tensor.offset - parts[part].start };
    }),
    types: typeTotals(gguf),
    mix: quantMix(gguf),
    layout: fileLayout(gguf).map((sections) =>
      sections.map(({ kind, offset, bytes, tensor }) => ({
        kind,
        offset,
        bytes,
        ...(tensor && { tensor: tensor.name }),
      })),
    ),
  });
}
