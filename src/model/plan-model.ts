import { SluiceError } from "../errors.ts";
import type { Gguf } from "../gguf/types.ts";
import { blockFormat } from "../quant/index.ts";
import type { Architecture, TensorSpec } from "./architecture.ts";
import { findArchitecture } from "./architectures/index.ts";
import { takeApart } from "./fused.ts";
import { readHyperparameters } from "./hyperparameters.ts";
import { ROPE_TENSORS } from "./rope.ts";
import type { ModelPlan, TensorPlan } from "./types.ts";

/** Tables that old converters wrote and that every engine computes itself. */
const HARMLESS = /^(rope\.freqs|blk\.\d+\.attn_rot_embd\.weight|blk\.\d+\.attn\.rotary_emb\.inv_freq)$/;

/**
 * Find every tensor that the model needs and check it: there, of the right shape, of a type that can be read. A tensor
 * that would not be used (a bias, an expert, a layer too many) is refused too, as leaving it out would silently change
 * the answers. Of the tensors' data only factors of frequencies are read. The sources of a plan are names in the file as
 * `takeApart` leaves it.
 *
 * Errors: those of `readHyperparameters`, `bad-model` for missing tensors and wrong shapes, `unsupported` for types and
 * for tensors that are left over.
 */
export function planModel(file: Gguf): ModelPlan {
  const model = readHyperparameters(file);
  const gguf = takeApart(file, model);
  const { width, vocabulary, headSize } = model;
  const architecture = findArchitecture(model.architecture, gguf.path);
  const used = new Set(ROPE_TENSORS);
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
    architecture
      .layerTensors(layer, width, headSize)
      .filter(({ sources, optional }) => !optional || gguf.tensors.has(`blk.${index}.${sources[0]}`))
      .map((spec) => plan(spec, `blk.${index}.`)),
  );
  const output = outputVectors(architecture).map((spec) => plan({ ...spec, rows: 1, columns: width }));
  if (!model.tiedOutput) output.push(plan({ role: "output", sources: ["output.weight"], ...table }));
  refuseUnused(gguf, used);
  return { model, embedding, layers, output };
}

/** What comes before the output matrix: (width) each. */
export function outputVectors({ outputBias = false }: Pick<Architecture, "outputBias">) {
  const norm = { role: "output_norm", sources: ["output_norm.weight"], kind: "vector" } as const;
  const bias = { role: "output_norm_bias", sources: ["output_norm.bias"], kind: "vector" } as const;
  return outputBias ? [norm, bias] : [norm];
}

function checkTensor(gguf: Gguf, name: string, { kind, rows, columns }: TensorSpec): void {
  const tensor = gguf.tensors.get(name);
  if (tensor === undefined) {
    throw new SluiceError("bad-model", `${gguf.path}: the tensor ${name} is missing`, {
      next: "The file is incomplete or was converted wrongly; download or convert it again.",
    });
  }
  const expected = kind === "vector" ? [columns] : [columns, rows];
  // Of a vector only the number of values counts: norms of each head's own lie as (heads, head size).
  const shape = kind === "vector" ? [tensor.shape.reduce((a, b) => a * b, 1)] : tensor.shape;
  if (shapeText(shape) !== shapeText(expected)) {
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
