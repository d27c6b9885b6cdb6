import { type Command, InvalidArgumentError, Option } from "commander";
import type { EngineOptions } from "../engine/engine-options.ts";
import { KV_TYPES } from "../kernels/kv-layout.ts";
import type { KvType } from "../kernels/types.ts";
import { wholeNumber } from "./options.ts";

/** More than any machine has use for: each thread takes memory of its own. */
const MOST_THREADS = 256;

export interface EngineFlags {
  readonly threads?: number;
  readonly ram?: number | "auto";
  readonly kv?: KvType;
  readonly kvRam?: number;
  readonly ctxSize?: number;
  readonly parallel?: number;
}

/** Options of how a model runs, not of what it says. */
export function addEngineOptions(command: Command): Command {
  return command
    .addOption(
      new Option("-t, --threads <n>", "compute threads (default: one for each processor)").argParser(
        wholeNumber(1, MOST_THREADS),
      ),
    )
    .addOption(
      new Option(
        "--ram <size>",
        "memory for weights, as 800M or 2.5G: what fits is read from disk only once; auto: as much as is safe (default: stream everything)",
      ).argParser(parseRam),
    )
    .addOption(
      new Option(
        "--kv <type>",
        "type of the KV cache; q8 takes half of f16 (default: f32 with f32 weights, else f16)",
      ).choices(KV_TYPES),
    )
    .addOption(
      new Option(
        "--kv-ram <size>",
        "memory for the KV cache, as 200M: keys and values of further layers stream from disk (default: all in memory)",
      ).argParser(parseBytes),
    );
}

export function engineOptions({ threads, ram, kv, kvRam, ctxSize, parallel }: EngineFlags): EngineOptions {
  return { threads, ram, kvType: kv, kvRam, contextLength: ctxSize, parallel };
}

const UNITS = ["", "k", "m", "g", "t"];

/** Parser of an option that takes a size. */
export function parseBytes(text: string): number {
  const bytes = parseSize(text);
  if (bytes === undefined) throw new InvalidArgumentError("It must be a size as 800M or 2.5G.");
  return bytes;
}

/** Parser of `--ram`. */
export function parseRam(text: string): number | "auto" {
  if (text === "auto") return text;
  const bytes = parseSize(text);
  if (bytes === undefined) throw new InvalidArgumentError("It must be a size as 800M or 2.5G, or auto.");
  return bytes;
}

/** Bytes from `800M`, `2.5G`, `1500000000`: decimal units, and binary ones as `1GiB`; undefined for what is no size. */
export function parseSize(text: string): number | undefined {
  const [, digits, unit, binary] = /^(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?$/i.exec(text.trim()) ?? [];
  if (digits === undefined) return undefined;
  const bytes = Math.round(Number(digits) * (binary ? 1024 : 1000) ** UNITS.indexOf(unit.toLowerCase()));
  if (!Number.isSafeInteger(bytes))
    throw new InvalidArgumentError("It is more than any machine has: at most 9000T.");
  return bytes;
}
