/** Which files of a repository make up a model. */
import { SluiceError } from "../errors.ts";
import { parsePartName } from "../gguf/split-names.ts";
import { fittingFiles, listed, modelsAmong, quantOf } from "../models-on-disk/model-files.ts";

/** Files that make up a model. */
export interface ModelSet {
  /** `hf:org/repo[:quant]`, with the quant that was meant where there are several. */
  readonly name: string;
  /** Paths within the repository; what opens the model is first. */
  readonly files: readonly string[];
  /** Whether it is a folder of safetensors. */
  readonly isFolder: boolean;
}

/** What is taken where a repository has several and none is named, as llama.cpp and Ollama do. */
const USUAL_QUANT = "Q4_K_M";
const CONFIG = "config.json";
const INDEX = "model.safetensors.index.json";
/** What belongs to a model in safetensors besides its weights. */
const BESIDE = new Set([
  CONFIG,
  INDEX,
  "generation_config.json",
  "tokenizer.json",
  "tokenizer_config.json",
  "tokenizer.model",
  "special_tokens_map.json",
  "added_tokens.json",
  "vocab.json",
  "merges.txt",
  "chat_template.jinja",
  "chat_template.json",
]);

/**
 * The files of the model that is meant: a GGUF file (without a quant the only one, or that of Q4_K_M), all parts of a split
 * one, or, in a repository that has no GGUF file
 * and where no quant is given, the configuration, tokenizer and weights in safetensors.
 *
 * @param repo `org/repo`
 * @param files paths of all files of the repository
 * @param quant as `chooseFile` takes it
 * @param sizeOf what an error says behind the name of a model that there is
 * @throws SluiceError `bad-input`, with what there is
 */
export function modelSet(
  repo: string,
  files: readonly string[],
  quant: string | undefined,
  sizeOf: (files: readonly string[]) => string = () => "",
): ModelSet {
  const spec = `hf:${repo}`;
  const asked = quant === undefined ? spec : `${spec}:${quant}`;
  const models = modelsAmong([...files].sort());
  const weights = models.length === 0 ? safetensorsSet(files) : undefined;
  if (weights !== undefined && quant === undefined) return { name: spec, files: weights, isFolder: true };
  if (models.length === 0) {
    throw new SluiceError("bad-input", `${spec} has no GGUF file; there is ${listed(files)}`, {
      next:
        weights === undefined
          ? "Look for a repository that has the model as GGUF."
          : `It has the model as safetensors, which comes in one size: \`sluice pull ${spec}\`.`,
    });
  }
  const usual = quant === undefined && models.length > 1 ? fittingFiles(models, USUAL_QUANT) : [];
  const fitting = usual.length === 1 ? usual : fittingFiles(models, quant);
  if (fitting.length !== 1) {
    const choice = fitting.length > 0 ? fitting : models;
    const names = choice.map(({ name, files }) => name + sizeOf(files));
    const problem =
      fitting.length > 0 ? `${asked} could be ${fitting.length} models:` : `${asked} is not there; there is`;
    throw new SluiceError("bad-input", `${problem} ${listed(names)}`, {
      next: `Name one by a part of its file name: ${spec}:${quantOf(choice[0].name)}`,
    });
  }
  const [model] = fitting;
  checkParts(asked, model.files);
  const name = quant === undefined && models.length > 1 ? `${spec}:${quantOf(model.name)}` : asked;
  return { name, files: model.files, isFolder: false };
}

/** @throws SluiceError `bad-input` where a repository lacks parts of a split model */
function checkParts(name: string, files: readonly string[]): void {
  const count = parsePartName(files[0])?.count ?? 1;
  const numbers = new Set(files.map((file) => parsePartName(file)?.number ?? 1));
  if (numbers.size === count && files.length === count) return;
  throw new SluiceError("bad-input", `of the ${count} parts of ${name} there is ${listed(files)}`, {
    next: "Take another quant or another repository of this model.",
  });
}

/** The weights as `openShards` looks for them, and what is beside them; undefined where there is no such model. */
export function safetensorsSet(files: readonly string[]): string[] | undefined {
  const here = files.filter((file) => !file.includes("/"));
  const weights = here.filter((file) => file.endsWith(".safetensors")).sort();
  // Some repositories have the same weights once more, under the names of whoever trained them.
  const own = weights.filter((file) =>
    here.includes(INDEX) ? /^model-\d+-of-\d+\.safetensors$/.test(file) : file === "model.safetensors",
  );
  const taken = own.length > 0 ? own : weights;
  if (taken.length === 0 || !here.includes(CONFIG)) return undefined;
  return [CONFIG, ...here.filter((file) => BESIDE.has(file) && file !== CONFIG).sort(), ...taken];
}
