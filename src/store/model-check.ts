/** Whether the model that a manifest describes and the tensors of its files belong together. */
import { ARCHITECTURES } from "../model/architectures/index.ts";
import { outputVectors } from "../model/plan-model.ts";
import {
  ACTIVATIONS,
  HEAD_NORMS,
  type Hyperparameters,
  type LayerShape,
  NORMS,
  ROPE_STYLES,
  type RopeParameters,
} from "../model/types.ts";
import type { Manifest, StoredFile } from "./types.ts";

/** What is wrong, or undefined. The manifest's files have been checked each for itself. */
export function checkModel({ model, embedding, layers, output }: Manifest): string | undefined {
  const architecture = ARCHITECTURES.get(model.architecture);
  if (architecture === undefined) return `unknown architecture ${String(model.architecture)}`;
  const numbers = checkNumbers(model);
  if (numbers !== undefined) return numbers;

  const { width, headSize, vocabulary, tiedOutput } = model;
  const outputs = [
    ...outputVectors(architecture).map(({ role }) => [role, 1, width]),
    ...(tiedOutput ? [] : [["output", vocabulary, width]]),
  ];
  const files: [StoredFile, unknown[][]][] = [
    [embedding, [["token_embd", vocabulary, width]]],
    ...layers.map((file, index): [StoredFile, unknown[][]] => {
      const specs = architecture.layerTensors(model.layers[index], width, headSize);
      const present = specs.filter(
        (spec) => !spec.optional || file.tensors.some(({ role }) => role === spec.role),
      );
      return [
        file,
        present.map(({ role, sources, rows, columns }) => [role, rows * sources.length, columns]),
      ];
    }),
    [output, outputs],
  ];
  const odd = files.find(([file, wanted]) => {
    const found = file.tensors.map(({ role, rows, columns }) => [role, rows, columns]);
    return found.join(";") !== wanted.join(";");
  });
  if (odd !== undefined) return `${odd[0].name}: its tensors are not those of the model`;
  const unfit = layers.find(({ tensors }, index) => {
    const norm = tensors.find(({ role }) => role === "attn_q_norm");
    const heads = model.headNorm === undefined ? 1 : model.layers[index].heads;
    return norm !== undefined && norm.columns !== heads * headSize;
  });
  return unfit && `${unfit.name}: its norms of heads are not those of the model`;
}

function checkNumbers(model: Hyperparameters): string | undefined {
  const { width, headSize, vocabulary, normEpsilon, tiedOutput, layers, rope } = model;
  for (const size of [width, headSize, vocabulary])
    if (!isSize(size)) return "the model's sizes make no sense";
  if (!isPositive(normEpsilon)) return `the model's normEpsilon is ${String(normEpsilon)}`;
  if (typeof tiedOutput !== "boolean") return "the model does not say where its output matrix is";
  const layer = layers.findIndex((shape) => !isLayer(shape));
  if (layer >= 0) return `layer ${layer} is not described`;
  if (!isRope(rope, headSize) || !isOptional(model.localRope, (local) => isRope(local, headSize)))
    return "the model's rope makes no sense";
  return checkDepartures(model);
}

function checkDepartures(model: Hyperparameters): string | undefined {
  const { norm, activation, headNorm, parallel, temperature } = model;
  const scales = [model.embeddingScale, model.residualScale, model.attentionScale, model.logitScale];
  const sound =
    isOptional(norm, (kind) => NORMS.includes(kind)) &&
    isOptional(activation, (kind) => ACTIVATIONS.includes(kind)) &&
    isOptional(headNorm, (kind) => HEAD_NORMS.includes(kind)) &&
    isOptional(parallel, (value) => typeof value === "boolean") &&
    isOptional(temperature, (value) => isPositive(value?.scale) && isSize(value.positions)) &&
    [...scales, model.attentionCap, model.logitCap].every((value) => isOptional(value, isPositive));
  return sound ? undefined : "what sets the model apart makes no sense";
}

function isLayer(layer: LayerShape | null): boolean {
  if (typeof layer !== "object" || layer === null) return false;
  const { heads, kvHeads, feedForward, rope, window } = layer;
  const sizes = [heads, kvHeads, feedForward].every(isSize) && isOptional(window, isSize);
  return sizes && heads % kvHeads === 0 && typeof rope === "boolean";
}

function isRope(rope: RopeParameters | null, headSize: number): boolean {
  if (typeof rope !== "object" || rope === null) return false;
  const { dimensions, style, base, positionScale, factors, longFactors, shortContext, magnitude } = rope;
  if (!isSize(dimensions) || dimensions % 2 !== 0 || dimensions > headSize) return false;
  if (!ROPE_STYLES.includes(style)) return false;
  if (!isPositive(base) || !isPositive(positionScale)) return false;
  const areFactors = (values: readonly number[]) =>
    Array.isArray(values) && values.length === dimensions / 2 && values.every(isPositive);
  return (
    isOptional(factors, areFactors) &&
    isOptional(longFactors, areFactors) &&
    isOptional(shortContext, isSize) &&
    isOptional(magnitude, isPositive)
  );
}

function isOptional<T>(value: T | undefined, check: (value: T) => boolean): boolean {
  return value === undefined || check(value);
}

function isSize(value: number): boolean {
  return Number.isSafeInteger(value) && value > 0;
}

function isPositive(value: number): boolean {
  return Number.isFinite(value) && value > 0;
}
