import { readFileSync } from "node:fs";
import { join } from "node:path";
import { SluiceError } from "../../errors.ts";
import { formatBytes } from "../../format-bytes.ts";
import { type Cache, openCache, weightFiles } from "../../store/cache.ts";
import { textBytes } from "../../text/token-texts.ts";
import { decodeTokenizerData } from "../../text/tokenizer-data.ts";
import { OVERHEAD_BYTES } from "../budget.ts";
import { Engine } from "../engine.ts";
import type { EngineOptions } from "../engine-options.ts";
import { Lookup } from "./lookup.ts";
import { ModelDraft } from "./model-draft.ts";
import { ShadowDraft } from "./shadow-draft.ts";
import type { Draft } from "./types.ts";

/** Of the tokens of a vocabulary, so many may be filling. */
const PADDING = 0.01;

/**
 * A way to guess: by what the text says elsewhere; with a copy of the model's own weights in fewer bits, within its `ram`; or
 * by another model, of the same vocabulary, that is unpacked there.
 */
export type DraftChoice = "lookup" | "shadow" | { readonly model: string };

/** The drafts of an open model. */
export interface DraftSource {
  /** Bytes of memory that they take. */
  readonly bytes: number;
  /** Those of one session of the model that this engine runs. */
  create(engine: Engine): Draft[];
  close(): Promise<void>;
}

/**
 * @param cache of the model that they guess for
 * @param options that it is opened with
 * @throws SluiceError `bad-input` for a draft that is of another vocabulary, or that memory has no room for
 */
export function openDrafts(
  choices: readonly DraftChoice[],
  cache: Cache,
  options: EngineOptions,
): DraftSource {
  const engines: Engine[] = [];
  const { vocabulary } = cache.manifest.model;
  const makers = choices.map((choice): ((engine: Engine) => Draft) => {
    if (choice === "lookup") return () => new Lookup();
    if (choice === "shadow") return (engine) => new ShadowDraft(engine, vocabulary);
    const draft = openCache(choice.model);
    checkVocabulary(draft, cache);
    const contextLength = Math.min(
      options.contextLength ?? Number.POSITIVE_INFINITY,
      draft.manifest.model.contextLength || Number.POSITIVE_INFINITY,
      cache.manifest.model.contextLength || Number.POSITIVE_INFINITY,
    );
    const engine = openResident(draft, { threads: options.threads, contextLength });
    engines.push(engine);
    return () => new ModelDraft(engine, vocabulary, contextLength);
  });
  return {
    bytes: engines.reduce((sum, { residentBytes, ringBytes }) => sum + residentBytes + ringBytes, 0),
    create: (engine) => makers.map((make) => make(engine)),
    close: async () => {
      for (const engine of engines) await engine.close();
    },
  };
}

/** A small model whose weights all stay in memory. */
function openResident(cache: Cache, options: EngineOptions): Engine {
  const bytes = weightFiles(cache.manifest).reduce((sum, file) => sum + file.bytes, 0);
  try {
    // The ring comes on top.
    return new Engine(cache, { ...options, ram: bytes + OVERHEAD_BYTES });
  } catch (cause) {
    if (!(cause instanceof SluiceError) || cause.code !== "bad-input") throw cause;
    throw new SluiceError(
      "bad-input",
      `the draft ${cache.manifest.model.name} does not fit into memory: it has ${formatBytes(bytes)} of weights`,
      { next: "Take a smaller one, or --draft lookup.", cause },
    );
  }
}

/** A guess is made of token ids, and so these have to mean the same. */
function checkVocabulary(draft: Cache, model: Cache): void {
  const [ours, theirs] = [model, draft].map(({ folder, manifest }) =>
    decodeTokenizerData(readFileSync(join(folder, manifest.tokenizer.name))),
  );
  const names = `the draft ${draft.manifest.model.name} and ${model.manifest.model.name}`;
  const refuse = (what: string) => {
    throw new SluiceError("bad-input", `${names} have not the same vocabulary: ${what}`, {
      next: "A draft must be a model of the same family; `sluice inspect` tells what a file has.",
    });
  };
  const [many, other] = [ours.types.length, theirs.types.length];
  // Versions of a vocabulary are filled up to different sizes, with tokens that no text has.
  if (Math.abs(many - other) > many * PADDING) refuse(`${other} and ${many} tokens`);
  for (let id = 0; id < Math.min(many, other); id++)
    if (Buffer.compare(textBytes(ours.texts, id), textBytes(theirs.texts, id)) !== 0)
      refuse(`token ${id} is another one`);
}
