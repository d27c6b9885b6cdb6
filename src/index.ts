/**
 * sluice as a library: unpack a GGUF model once, then generate while its layers stream from disk.
 *
 * @example
 * import { Model, unpack } from "sluice";
 *
 * const { folder } = await unpack("SmolLM3-Q8_0.gguf", { root: "/data/sluice", dtype: "q8" });
 * const model = await Model.open(folder);
 * const session = model.createSession();
 * const prompt = model.encodeChat([{ role: "user", content: "Why is the sky blue?" }]);
 * for await (const { text } of session.generate(prompt, { maxTokens: 200 })) process.stdout.write(text);
 * await model.close();
 *
 * @module
 */
export type {
  BatchAnswer,
  BatchOptions,
  BatchProgress,
  BatchRequest,
  BatchResult,
  BatchSummary,
} from "./engine/batch/types.ts";
export { compareEmbeddings, type Embeddings, type NearToken } from "./engine/embeddings.ts";
export { Model, type OpenOptions } from "./engine/model.ts";
export type { KeptPrompt, PromptCache } from "./engine/prompt-cache.ts";
export type { Session, SessionSnapshot } from "./engine/session.ts";
export type {
  Candidate,
  Choice,
  GeneratedToken,
  GenerateOptions,
  GenerateProgress,
  GenerateResult,
  LensPosition,
  SamplingOptions,
  StopReason,
  TokenLogprob,
} from "./engine/types.ts";
export { type ErrorCode, SluiceError } from "./errors.ts";
export { openGguf } from "./gguf/open.ts";
export type { Gguf, MetadataValue, TensorInfo } from "./gguf/types.ts";
export { pullModel } from "./hub/pull.ts";
export type { PatienceOptions, PullEvent, PullOptions, PullResult } from "./hub/types.ts";
export type { KvType } from "./kernels/types.ts";
export type { Hyperparameters, LayerShape } from "./model/types.ts";
export { PromptStore, type PromptStoreOptions } from "./prompt-store/prompt-store.ts";
export { type Cache, openCache } from "./store/cache.ts";
export type { Compression, Dtype, Manifest } from "./store/types.ts";
export { verifyCache } from "./store/verify.ts";
export type { ChatMessage, EncodeOptions, Tokenizer } from "./text/types.ts";
export type { Lane, LaneEvent, SpanName } from "./timing/recording.ts";
export type { Observer, StageTiming, SweepKind, SweepTiming } from "./timing/types.ts";
export type { UnpackEvent, UnpackOptions, UnpackResult } from "./unpack/types.ts";
export { unpack } from "./unpack/unpack.ts";
