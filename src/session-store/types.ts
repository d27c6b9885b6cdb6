import type { ChatMessage } from "../text/types.ts";

/** What must be the same for a saved KV cache to be of use. */
export interface SessionModel {
  readonly name: string;
  readonly architecture: string;
  /** File name of the model. */
  readonly source: string;
  /** Of the model file: see gguf/fingerprint.ts. */
  readonly fingerprint: string;
  readonly dtype: string;
  /** Version of the cache format. */
  readonly cacheFormat: number;
  readonly kv: {
    readonly type: string;
    /** Version of the layout of blocks. */
    readonly format: number;
    readonly blockPositions: number;
    readonly blockBytes: number;
    /** Whether keys are rotated as for long contexts, where a model has two ways (longrope). */
    readonly longRope?: boolean;
  };
}

/** What a conversation was held with, to be taken up again; the fields are the chat's, values are plain data. */
export type SessionSettings = Readonly<Record<string, unknown>>;

/** A conversation as it is saved, but for the bytes of its KV cache. */
export interface SessionContent {
  /** ISO 8601. */
  readonly created: string;
  readonly changed: string;
  readonly model: SessionModel;
  readonly messages: readonly ChatMessage[];
  readonly settings: SessionSettings;
  /** Tokens whose keys and values are saved. */
  readonly ids: readonly number[];
}

/** A block of KV cache to be saved. */
export interface SavedBlock {
  /** Equal stamps of blocks whose positions are all in use mean equal bytes. */
  readonly stamp: number;
  readonly bytes: Uint8Array;
}
