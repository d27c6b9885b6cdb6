/** Checks of a manifest, so that nothing behind it needs to doubt a number. */
import { alignUp, CHUNK_BYTES, layoutChunks, tensorPanelBytes, tensorPanels } from "./layout.ts";
import { checkModel } from "./model-check.ts";
import { EMBEDDING, layerFileName, OUTPUT, TOKENIZER } from "./names.ts";
import { columnsUnit, isLow, isQuantized } from "./panel.ts";
import { DTYPES, type Manifest, type StoredFile, type StoredTensor, type TensorDtype } from "./types.ts";

type Fields = Readonly<Record<string, unknown>>;
/** Rows and columns beyond this belong to no model. */
const LARGEST_DIMENSION = 2 ** 31;

/** What is wrong with a decoded manifest, or undefined. */
export function checkManifest(value: unknown): string | undefined {
  if (!isFields(value)) return "it is no map";
  const { source, model, tokenizer, layers } = value;
  if (typeof value["sluice"] !== "string") return "it does not say what wrote it";
  if (!isFields(source) || typeof source["name"] !== "string" || typeof source["fingerprint"] !== "string")
    return "it does not say what it was made from";
  if (!isCount(source["bytes"])) return "the size of the source is no size";
  if (!DTYPES.includes(value["dtype"] as never)) return `unknown dtype ${String(value["dtype"])}`;
  if (value["compression"] !== "none" && value["compression"] !== "lz4")
    return `unknown compression ${String(value["compression"])}`;
  if (!isFields(tokenizer) || tokenizer["name"] !== TOKENIZER || !isCount(tokenizer["bytes"]))
    return "the tokenizer is not described";
  if (!isFields(value["timing"])) return "it has no timing";
  if (!Array.isArray(layers)) return "it has no layers";
  return (
    checkModelFields(model, layers.length) ??
    checkFile(value["embedding"], EMBEDDING) ??
    layers.map((file, layer) => checkFile(file, layerFileName(layer))).find((problem) => problem) ??
    checkFile(value["output"], OUTPUT) ??
    checkModel(value as unknown as Manifest)
  );
}

/** What is wrong with the description of a weight file of this name, or undefined. */
export function checkFile(value: unknown, name: string): string | undefined {
  const wrong = (problem: string) => `${name}: ${problem}`;
  if (!isFields(value) || value["name"] !== name) return wrong("not described");
  const { tensors, chunks } = value;
  if (!Array.isArray(tensors) || !tensors.every(isTensor)) return wrong("its tensors are not described");
  if (!Array.isArray(chunks)) return wrong("it has no chunks");
  // Before the layout is computed: a tensor of absurd size would take forever.
  for (const tensor of tensors as StoredTensor[]) {
    const size = tensorPanelBytes(tensor);
    if (tensorPanels(tensor) * size > chunks.length * Math.max(CHUNK_BYTES, size))
      return wrong(`tensor ${tensor.role} is larger than its chunks`);
  }
  return checkChunks(value as unknown as StoredFile, wrong);
}

function checkChunks(file: StoredFile, wrong: (problem: string) => string): string | undefined {
  const layout = layoutChunks(file.tensors);
  if (layout.length !== file.chunks.length)
    return wrong(`${file.chunks.length} chunks where its tensors make ${layout.length}`);
  let offset = 0;
  for (const [index, chunk] of file.chunks.entries()) {
    const { bytes } = layout[index];
    if (!isFields(chunk) || chunk.offset !== offset || !isCount(chunk.crc32))
      return wrong(`chunk ${index} is not where it belongs`);
    if (!isCount(chunk.stored) || chunk.stored === 0 || chunk.stored > bytes)
      return wrong(`chunk ${index} says ${chunk.stored} bytes of ${bytes}`);
    offset += alignUp(chunk.stored);
  }
  return file.bytes === offset ? undefined : wrong(`${file.bytes} bytes where its chunks take ${offset}`);
}

function checkModelFields(model: unknown, layers: number): string | undefined {
  if (!isFields(model) || typeof model["architecture"] !== "string") return "the model is not described";
  for (const field of ["contextLength", "width", "headSize", "vocabulary"])
    if (!isCount(model[field])) return `the model's ${field} is no number`;
  if (!Array.isArray(model["layers"]) || model["layers"].length !== layers)
    return `${layers} layer files do not fit the model`;
  return isFields(model["rope"]) ? undefined : "the model's rope is not described";
}

function isTensor(value: unknown): boolean {
  if (!isFields(value)) return false;
  const { role, sources, sourceTypes, kind, rows, columns, dtype } = value;
  if (typeof role !== "string" || (kind !== "vector" && kind !== "matrix")) return false;
  if (!isTexts(sources) || !isTexts(sourceTypes) || sources.length !== sourceTypes.length) return false;
  if (!isDimension(rows) || !isDimension(columns) || rows % sources.length !== 0) return false;
  if (dtype === "f32") return true;
  if (kind !== "matrix" || !isTensorDtype(dtype)) return false;
  return columns % columnsUnit(dtype) === 0;
}

function isTensorDtype(value: unknown): value is TensorDtype {
  return (
    typeof value === "string" &&
    (value === "f16" || value === "bf16" || (isQuantized(value) && !isLow(value)))
  );
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.length > 0 && value.every((text) => typeof text === "string");
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isDimension(value: unknown): value is number {
  return isCount(value) && value > 0 && value < LARGEST_DIMENSION;
}
