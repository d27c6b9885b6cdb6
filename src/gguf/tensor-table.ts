import { SUPPORTED_TYPES } from "../quant/index.ts";
import type { Cursor } from "./cursor.ts";
import { removedTensorType, type TensorType, tensorType } from "./tensor-types.ts";
import type { TensorInfo } from "./types.ts";

/** ggml's GGML_MAX_NAME, which counts a terminating zero. */
const MAX_NAME_BYTES = 63;
/** ggml's GGML_MAX_DIMS. */
const MAX_DIMENSIONS = 4;

const text = new TextDecoder("utf-8", { ignoreBOM: true });

/**
 * Read the descriptions of `count` tensors; `offset` of each still counts from the start of the tensor data.
 * Errors `bad-model`: a name too long or repeated, more than 4 dimensions, sizes beyond 2^53, an unknown type,
 * columns that are no multiple of the type's block.
 */
export function readTensorTable(cursor: Cursor, count: number): TensorInfo[] {
  const names = new Set<string>();
  const tensors: TensorInfo[] = [];
  for (let index = 0; index < count; index++) {
    cursor.what = `name of tensor ${index + 1} of ${count}`;
    const name = text.decode(cursor.string(MAX_NAME_BYTES));
    cursor.what = `tensor ${JSON.stringify(name)}`;
    if (names.has(name)) throw cursor.fail("is there twice");
    names.add(name);
    const shape = readShape(cursor);
    const { name: type, blockSize, blockBytes } = readTensorType(cursor);
    if (shape[0] % blockSize !== 0) {
      throw cursor.fail(
        `has ${shape[0]} columns, no multiple of the ${blockSize} values in a block of ${type}`,
      );
    }
    const bytes = (shape.reduce((product, size) => product * size, 1) / blockSize) * blockBytes;
    tensors.push({ name, type, shape, offset: cursor.size(), bytes });
  }
  return tensors;
}

function readShape(cursor: Cursor): number[] {
  const dimensions = cursor.u32();
  if (dimensions > MAX_DIMENSIONS)
    throw cursor.fail(`has ${dimensions} dimensions; at most ${MAX_DIMENSIONS} exist`);
  const shape: number[] = [];
  let elements = 1;
  for (let dimension = 0; dimension < dimensions; dimension++) {
    const size = cursor.size();
    // Rounding of doubles is monotonic: a product beyond 2^53 never comes out below it.
    elements *= size;
    if (Math.max(size, elements) > Number.MAX_SAFE_INTEGER) {
      throw cursor.fail(`has an impossible shape: dimension ${dimension} is ${size.toExponential(2)}`);
    }
    shape.push(size);
  }
  return shape.length === 0 ? [1] : shape;
}

function readTensorType(cursor: Cursor): TensorType {
  const id = cursor.u32();
  const type = tensorType(id);
  if (type) return type;
  const removed = removedTensorType(id);
  const problem = removed
    ? `is of type ${removed}, which ggml no longer has`
    : `is of the unknown type ${id}`;
  throw cursor.fail(
    `${problem}; sluice reads ${SUPPORTED_TYPES.join(", ")}`,
    "Use a file of the same model in one of these types (Q8_0 is the usual choice); if this one should be, download it again.",
  );
}

/**
 * Turn offsets within the tensor data into positions in the file, having checked that the tensors lie one behind the
 * other without a gap or an overlap, each padded to the alignment, and inside the file. Any order will do (llama.cpp
 * wants the table's own). Some writers leave out the padding after the last tensor; a part of it is a file cut short.
 */
export function placeTensors(
  cursor: Cursor,
  tensors: readonly TensorInfo[],
  dataStart: number,
  alignment: number,
): Map<string, TensorInfo> {
  const byOffset = tensors.toSorted((a, b) => a.offset - b.offset || a.bytes - b.bytes);
  let expected = 0;
  for (const { name, offset, bytes } of byOffset) {
    cursor.what = `tensor ${JSON.stringify(name)}`;
    if (offset !== expected) {
      throw cursor.fail(
        `is at offset ${offset} of the tensor data, but the one before it ends at ${expected}`,
      );
    }
    const end = dataStart + offset + bytes;
    if (end > cursor.end) {
      throw cursor.fail(`reaches to byte ${end}, but the file ends at ${cursor.end}: it was cut short`);
    }
    expected = alignUp(offset + bytes, alignment);
    const paddedEnd = dataStart + expected;
    if (cursor.end > end && cursor.end < paddedEnd) {
      throw cursor.fail(
        `is padded to byte ${paddedEnd}, but the file ends at ${cursor.end}: it was cut short`,
      );
    }
  }
  return new Map(tensors.map((tensor) => [tensor.name, { ...tensor, offset: dataStart + tensor.offset }]));
}

/** The next multiple of a power of two; safe beyond 2^32. */
export function alignUp(position: number, alignment: number): number {
  return Math.ceil(position / alignment) * alignment;
}
