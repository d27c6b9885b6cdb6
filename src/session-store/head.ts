/**
 * The HEAD record: a MessagePack map with the fields of `SessionContent`, `sluice` (the version that wrote it), `format`
 * (that of the file once more, so that a file whose beginning is damaged can be told from one of another format), and
 * `blocks`: for each block of KV cache the offsets of its KEYS records. The ids are bytes there, four for each (u32,
 * little-endian). No `blocks` though there are ids: the KV cache was not kept.
 */
import { decodeMessage, encodeMessage } from "../store/manifest.ts";
import { version } from "../version.ts";
import { SESSION_FORMAT } from "./log.ts";
import type { SessionContent, SessionModel } from "./types.ts";

export interface Head extends SessionContent {
  readonly sluice: string;
  readonly blocks: readonly (readonly number[])[];
}

export function encodeHead(content: SessionContent, blocks: readonly (readonly number[])[]): Uint8Array {
  const ids = Buffer.alloc(4 * content.ids.length);
  for (const [index, id] of content.ids.entries()) ids.writeUInt32LE(id, 4 * index);
  return encodeMessage({ ...content, sluice: version(), format: SESSION_FORMAT, ids, blocks });
}

/** @returns undefined for bytes that are no head: what is returned has all fields, and values of the right types */
export function decodeHead(bytes: Uint8Array): Head | undefined {
  let value: unknown;
  try {
    value = decodeMessage(bytes);
  } catch {
    return undefined;
  }
  if (!isMap(value)) return undefined;
  const { sluice, format = SESSION_FORMAT, created, changed, model, messages, settings, ids, blocks } = value;
  const sound =
    format === SESSION_FORMAT &&
    [sluice, created, changed].every(isText) &&
    [created, changed].every((date) => !Number.isNaN(Date.parse(date as string))) &&
    isModel(model) &&
    isMap(settings) &&
    isListOf(messages, isMessage) &&
    ids instanceof Uint8Array &&
    ids.byteLength % 4 === 0 &&
    isListOf(blocks, (block) => isListOf(block, isCount));
  if (!sound) return undefined;
  const view = new DataView(ids.buffer, ids.byteOffset, ids.byteLength);
  const numbers = Array.from({ length: ids.byteLength / 4 }, (_, index) => view.getUint32(4 * index, true));
  const { format: _, ...head } = value;
  return { ...(head as unknown as Head), ids: numbers };
}

function isModel(value: unknown): value is SessionModel {
  if (!isMap(value) || !isMap(value["kv"])) return false;
  const { type, format, blockPositions, blockBytes, longRope = false } = value["kv"];
  return (
    ["name", "architecture", "source", "fingerprint", "dtype"].every((field) => isText(value[field])) &&
    isText(type) &&
    typeof longRope === "boolean" &&
    [value["cacheFormat"], format, blockPositions, blockBytes].every(isCount)
  );
}

function isMessage(value: unknown): boolean {
  return isMap(value) && isText(value["role"]) && isText(value["content"]);
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isListOf(value: unknown, isItem: (item: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(isItem);
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
