import { SluiceError } from "../errors.ts";
import type { Gguf } from "../gguf/types.ts";
import { blockFormat } from "../quant/index.ts";
import type { TensorSpec } from "./architecture.ts";
import { findArchitecture } from "./architectures/index.ts";
import { readHyperparameters } from "./hyperparameters.ts";
import { ROPE_FACTORS } from "./rope.ts";
import type { ModelPlan, TensorPlan } from "./types.ts";

/** Tables that old converters wrote and that every engine computes itself. */
const HARMLESS = /^(rope\.freqs|blk\.\d+\.attn_rot_embd\.weight|blk\.\d+\.attn\.rotary_emb\.inv_freq)$/;

/**
 * Find every tensor that the model needs and check it: there, of the right shape, of a type that can be read. A tensor
 * that would not be used (a bias, an expert, a layer too many) is refused too, as leaving it out would silently change
 * the answers. Of the tensors' data only `rope_freqs` is read.
 *
 * Errors: those of `readHyperparameters`, `bad-model` for missing tensors and wrong shapes, `unsupported` for types and
 * for tensors that are left over.
 */
export function planModel(gguf: Gguf): ModelPlan {
  const model = readHyperparameters(gguf);
  const { width, vocabulary, headSize } = model;
  const architecture = findArchitecture(model.architecture, gguf.path);
  const used = new Set([ROPE_FACTORS]);
  const plan = (spec: TensorSpec, prefix = ""): TensorPlan => {
    const sources = spec.sources.map((source) => prefix + source);
    for (const name of sources) {
      checkTensor(gguf, name, spec);
      used.add(name);
    }
    return {
      role: spec.role,
      sources,
      sourceTypes: sources.map((name) => gguf.tensors.get(name)!.type),
      kind: spec.kind,
      rows: spec.rows * sources.length,
      columns: spec.columns,
    };
  };

  const table = { kind: "matrix", rows: vocabulary, columns: width } as const;
  const embedding = plan({ role: "token_embd", sources: ["token_embd.weight"], ...table });
  const layers = model.layers.map((layer, index) =>
    architecture.layerTensors(layer, width, headSize).map((spec) => plan(spec, `blk.${index}.`)),
  );
  const output = [
    plan({ role: "output_norm", sources: ["output_norm.weight"], kind: "vector", rows: 1, columns: width }),
  ];
  if (!model.tiedOutput) output.push(plan({ role: "output", sources: ["output.weight"], ...table }));
  refuseUnused(gguf, used);
  return { model, embedding, layers, output };
}

function checkTensor(gguf: Gguf, name: string, { kind, rows, columns }: TensorSpec): void {
  const tensor = gguf.tensors.get(name);
  if (tensor === undefined) {
    throw new SluiceError("bad-model", `${gguf.path}: the tensor ${name} is missing`, {
      next: "The file is incomplete or was converted wrongly; download or convert it again.",
    });
  }
  const expected = kind === "vector" ? [columns] : [columns, rows];
  if (shapeText(tensor.shape) !== shapeText(expected)) {
    throw new SluiceError(
      "bad-model",
      `${gguf.path}: the tensor ${name} has shape ${shapeText(tensor.shape)}; expected ${shapeText(expected)}`,
      { next: "The file's metadata and tensors disagree; download or convert it again." },
    );
  }
  blockFormat(tensor.type, name);
}

/** Dimensions of 1 at the end mean nothing. */
function shapeText(shape: readonly number[]): string {
  const last = shape.findLastIndex((size, dimension) => size !== 1 || dimension === 0);
  return `[${shape.slice(0, last + 1).join(", ")}]`;
}

function refuseUnused(gguf: Gguf, used: ReadonlySet<string>): void {
  const unused = [...gguf.tensors.keys()].filter((name) => !used.has(name) && !HARMLESS.test(name));
  if (unused.length === 0) return;
  const more = unused.length > 1 ? ` (and ${unused.length - 1} more)` : "";
  throw new SluiceError(
    "unsupported",
    `${gguf.path}: sluice has no use for the tensor ${JSON.stringify(unused[0])}${more}, so answers would be wrong`,
    { next: "The model is a variant that sluice does not know; use another one." },
  );
}
