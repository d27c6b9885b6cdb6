import { join } from "node:path";
import { readNumbers, readStrings } from "../../src/gguf/arrays.ts";
import { openGguf } from "../../src/gguf/open.ts";
import { partPath } from "../../src/gguf/split-names.ts";
import type { Gguf, MetadataValue } from "../../src/gguf/types.ts";
import { GgufWriter, type MetadataInput } from "../../src/gguf/writer.ts";

type Metadata = [string, MetadataInput][];

/** What a test wants different in the metadata of part `number` (from 1). */
export type Change = (number: number, metadata: Metadata) => Metadata;

/**
 * Split a model as llama.cpp's gguf-split does: metadata in the first part only, `split.*` keys in all.
 *
 * @param sizes number of tensors in each part; the last one takes what is left
 * @returns the paths of the parts
 */
export function splitModel(
  source: string,
  folder: string,
  name: string,
  sizes: readonly number[],
  change: Change = (_, metadata) => metadata,
): string[] {
  const gguf = openGguf(source);
  const tensors = [...gguf.tensors.values()];
  const prefix = join(folder, name);
  const paths = sizes.map((size, index) => {
    const mine = tensors.splice(0, index === sizes.length - 1 ? tensors.length : size);
    const split: Metadata = [
      ["split.no", { type: "uint16", value: index }],
      ["split.count", { type: "uint16", value: sizes.length }],
      ["split.tensors.count", { type: "int32", value: gguf.tensors.size }],
    ];
    const metadata = change(index + 1, index === 0 ? [...allMetadata(gguf), ...split] : split);
    const path = partPath({ prefix, count: sizes.length, ending: ".gguf" }, index + 1);
    const writer = new GgufWriter(path, { metadata, tensors: mine });
    for (const { offset, bytes } of mine) {
      const data = new Uint8Array(bytes);
      gguf.read(offset, data);
      writer.write(data);
    }
    writer.close();
    return path;
  });
  gguf.close();
  return paths;
}

function allMetadata(gguf: Gguf): Metadata {
  return [...gguf.metadata].map(([key, value]) => [key, input(gguf, value)]);
}

function input(gguf: Gguf, value: MetadataValue): MetadataInput {
  if (value.type !== "array") return value;
  const { items } = value;
  const values = items === "string" ? readStrings(gguf, value) : readNumbers(gguf, value);
  return { type: "array", items, values: Array.from(values as Iterable<Uint8Array | number>, copy) };
}

/** Strings are views into a buffer. */
function copy(item: Uint8Array | number): Uint8Array | number {
  return typeof item === "number" ? item : Uint8Array.from(item);
}
