import { alignUp } from "./tensor-table.ts";
import type { Gguf, GgufPart, TensorInfo } from "./types.ts";

/** Magic, version and the two counts. */
const HEAD_BYTES = 24;

/** A stretch of a file. Padding is what alignment leaves empty; a rest is behind all tensors, and belongs to nothing. */
export interface Section {
  readonly kind: "head" | "metadata" | "table" | "padding" | "tensor" | "rest";
  /** Position in the part's own file. */
  readonly offset: number;
  readonly bytes: number;
  readonly tensor?: TensorInfo;
}

/** What lies where in each part of a model: sections one behind the other, that together are all bytes of the file. */
export function fileLayout(gguf: Gguf): Section[][] {
  return gguf.parts.map((part) => partLayout(gguf, part));
}

function partLayout({ tensors, alignment }: Gguf, part: GgufPart): Section[] {
  const { start, bytes: fileBytes, tableStart, tableEnd, headerBytes } = part;
  const sections: Section[] = [
    { kind: "head", offset: 0, bytes: HEAD_BYTES },
    { kind: "metadata", offset: HEAD_BYTES, bytes: tableStart - HEAD_BYTES },
    { kind: "table", offset: tableStart, bytes: tableEnd - tableStart },
  ];
  let end = tableEnd;
  const fill = (kind: "padding" | "rest", to: number) => {
    if (to > end) sections.push({ kind, offset: end, bytes: to - end });
    end = Math.max(end, to);
  };
  // A file without tensors may lack the padding of its header.
  fill("padding", Math.min(headerBytes, fileBytes));
  const mine = [...tensors.values()].filter(
    ({ offset, bytes }) => offset >= start + headerBytes && offset + bytes <= start + fileBytes,
  );
  for (const tensor of mine.sort((a, b) => a.offset - b.offset || a.bytes - b.bytes)) {
    const offset = tensor.offset - start;
    fill("padding", offset);
    sections.push({ kind: "tensor", offset, bytes: tensor.bytes, tensor });
    end = offset + tensor.bytes;
  }
  if (mine.length > 0) fill("padding", Math.min(alignUp(end, alignment), fileBytes));
  fill("rest", fileBytes);
  return sections;
}
