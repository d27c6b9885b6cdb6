/** Whether the model that a manifest describes and the tensors of its files belong together. */
import { ARCHITECTURES } from "../model/architectures/index.ts";
import { type Hyperparameters, type LayerShape, ROPE_STYLES, type RopeParameters } from "../model/types.ts";
import type { Manifest, StoredFile } from "./types.ts";

/** What is wrong, or undefined. The manifest's files have been checked each for itself. */
export function checkModel({ model, embedding, layers, output }: Manifest): string | undefined {
  const architecture = ARCHITECTURES.get(model.architecture);
  if (architecture === undefined) return `unknown architecture ${String(model.architecture)}`;
  const numbers = checkNumbers(model);
  if (numbers !== undefined) return numbers;

  const { width, headSize, vocabulary, tiedOutput } = model;
  const outputs = [["output_norm", 1, width], ...(tiedOutput ? [] : [["output", vocabulary, width]])];
  const files: [StoredFile, unknown[][]][] = [
    [embedding, [["token_embd", vocabulary, width]]],
    ...layers.map((file, index): [StoredFile, unknown[][]] => {
      const specs = architecture.layerTensors(model.layers[index], width, headSize);
      return [file, specs.map(({ role, sources, rows, columns }) => [role, rows * sources.length, columns])];
    }),
    [output, outputs],
  ];
  const odd = files.find(([file, wanted]) => {
    const found = file.tensors.map(({ role, rows, columns }) => [role, rows, columns]);
    return found.join(";") !== wanted.join(";");
  });
  return odd && `${odd[0].name}: its tensors are not those of the model`;
}

function checkNumbers(model: Hyperparameters): string | undefined {
  const { width, headSize, vocabulary, normEpsilon, tiedOutput, layers, rope } = model;
  for (const size of [width, headSize, vocabulary])
    if (!isSize(size)) return "the model's sizes make no sense";
  if (!isPositive(normEpsilon)) return `the model's normEpsilon is ${String(normEpsilon)}`;
  if (typeof tiedOutput !== "boolean") return "the model does not say where its output matrix is";
  const layer = layers.findIndex((shape) => !isLayer(shape));
  if (layer >= 0) return `layer ${layer} is not described`;
  return isRope(rope, headSize) ? undefined : "the model's rope makes no sense";
}

function isLayer(layer: LayerShape | null): boolean {
  if (typeof layer !== "object" || layer === null) return false;
  const { heads, kvHeads, feedForward, rope } = layer;
  return [heads, kvHeads, feedForward].every(isSize) && heads % kvHeads === 0 && typeof rope === "boolean";
}

function isRope(
  { dimensions, style, base, positionScale, factors }: RopeParameters,
  headSize: number,
): boolean {
  if (!isSize(dimensions) || dimensions % 2 !== 0 || dimensions > headSize) return false;
  if (!ROPE_STYLES.includes(style)) return false;
  if (!isPositive(base) || !isPositive(positionScale)) return false;
  return (
    factors === undefined ||
    (Array.isArray(factors) && factors.length === dimensions / 2 && factors.every(isPositive))
  );
}

function isSize(value: number): boolean {
  return Number.isSafeInteger(value) && value > 0;
}

function isPositive(value: number): boolean {
  return Number.isFinite(value) && value > 0;
}
