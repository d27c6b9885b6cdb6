import { Command } from "commander";
import { formatBytes } from "../format-bytes.ts";
import { cacheBytes, findCaches, weightFiles } from "../store/cache.ts";
import { layoutChunks } from "../store/layout.ts";
import { DTYPES, type Dtype, type Manifest, type StoredFile, type UnpackTiming } from "../store/types.ts";
import { formatTable } from "../timing/table.ts";
import { weightBytesAs } from "../unpack/planned-file.ts";
import { nativeName, reencodedTypes, smallerDtypes } from "../unpack/tensor-dtype.ts";
import type { UnpackResult } from "../unpack/types.ts";
import { resolveRoot, temporaryRoot } from "./cache-options.ts";
import { defaultDtype } from "./choose-dtype.ts";
import {
  addUnpackOptions,
  chooseCache,
  fileFingerprint,
  type UnpackFlags,
  unpackShown,
} from "./ensure-unpacked.ts";
import { MODEL_FILE_ARGUMENT, modelOrBundled } from "./model-argument.ts";
import { checkIsNoFolder } from "./model-file.ts";
import { print } from "./note.ts";
import { printableJson, printableLine } from "./printable.ts";
import { addTimingsOption } from "./timings-file.ts";

type Flags = UnpackFlags & { model?: string; force?: boolean; temp?: boolean; json?: boolean };

export function unpackCommand(): Command {
  const command = new Command("unpack")
    .description("Unpack a model into the cache, once: one file per layer, laid out for streaming.")
    .argument("[model]", MODEL_FILE_ARGUMENT)
    .option("-m, --model <file>", "the model, as an option")
    .option("--force", "unpack again, though it is there already")
    .option("--temp", "the same as --temp-cache")
    .option("--json", "print one JSON object instead of the table");
  return addTimingsOption(addUnpackOptions(command)).action(
    async (argument: string | undefined, flags: Flags) => {
      const model = modelOrBundled(argument, flags.model, command);
      checkIsNoFolder(model);
      const temporary = flags.temp || flags.tempCache;
      const root = temporary ? temporaryRoot() : resolveRoot(flags.cacheDir);
      const unpacked = chooseCache(findCaches(root, fileFingerprint(model)), {});
      const dtype = flags.dtype ?? (await defaultDtype(model, root, unpacked));
      const result = await unpackShown(model, root, { ...flags, dtype }, { force: flags.force ?? false });
      const lines = flags.json ? [printableJson(report(result), 0)] : summary(result, temporary);
      print(`${lines.join("\n")}\n`);
    },
  );
}

/** What `--json` prints. */
function report({ folder, manifest, reused, resumed, ms }: UnpackResult): object {
  const { model, dtype, compression, source, timing } = manifest;
  return {
    folder,
    reused,
    resumed,
    ms: Math.round(ms * 1000) / 1000,
    source,
    model: { name: model.name, architecture: model.architecture, layers: model.layers.length },
    dtype,
    compression,
    bytes: cacheBytes(manifest),
    reencoded: Object.fromEntries(reencodedTypes(manifest)),
    files: weightFiles(manifest).map(({ name, bytes }) => ({ name, bytes, ...timing[name] })),
    weight_bytes: Object.fromEntries(DTYPES.map((other) => [other, weightBytesAs(manifest, other)])),
  };
}

/**
 * What is said when an unpack is done: times by file, where it is, and what other dtypes would take.
 *
 * @param temporary whether it is removed when the process ends
 */
export function summary(
  { folder, manifest, reused, resumed, ms }: UnpackResult,
  temporary = false,
): string[] {
  const what = `${printableLine(manifest.model.name)}, ${manifest.model.layers.length} layers, ${label(manifest)}`;
  const size = formatBytes(cacheBytes(manifest));
  if (reused) return [`Already unpacked: ${what}, ${size}`, `in ${folder}`];
  const kept = resumed > 0 ? ` (${resumed} files were there from an earlier run)` : "";
  return [
    ...timingTable(manifest),
    "",
    `Unpacked ${what}, ${size} in ${(ms / 1000).toFixed(1)} s${kept}`,
    `to ${folder}${temporary ? ", which is removed at the end" : ""}`,
    ...reencoded(manifest),
    ...otherDtypes(manifest),
  ];
}

function label({ dtype, compression }: Manifest): string {
  return compression === "none" ? dtype : `${dtype}, ${compression}`;
}

function otherDtypes(manifest: Manifest): string[] {
  const bytesAs = (dtype: Dtype) => weightBytesAs(manifest, dtype);
  const own = formatBytes(bytesAs(manifest.dtype));
  const native = nativeName(weightFiles(manifest).flatMap(({ tensors }) => tensors));
  return [...smallerDtypes(manifest.dtype, bytesAs, native)]
    .filter(([, bytes]) => formatBytes(bytes) !== own)
    .map(
      ([dtype, bytes]) =>
        `With --dtype ${dtype} its weights would take ${formatBytes(bytes)} instead of ${own}.`,
    );
}

/** What a native cache could not keep. */
function reencoded(manifest: Manifest): string[] {
  const types = [...reencodedTypes(manifest)].map(
    ([type, count]) => `${count} ${type} matri${count === 1 ? "x" : "ces"}`,
  );
  return types.length === 0 ? [] : [`Rounded to q8, for native cannot hold them: ${types.join(", ")}.`];
}

/** Milliseconds of each stage by file; writing overlaps with the rest, so only the waiting for it counts. */
export function timingTable(manifest: Manifest): string[] {
  const files = weightFiles(manifest).filter(({ name }) => manifest.timing[name]);
  const times = files.map(({ name }) => manifest.timing[name]);
  const sum = (pick: (timing: UnpackTiming) => number) =>
    times.reduce((total, time) => total + pick(time), 0);
  const total: UnpackTiming = {
    readMs: sum((time) => time.readMs),
    dequantizeMs: sum((time) => time.dequantizeMs),
    encodeMs: sum((time) => time.encodeMs),
    writeMs: sum((time) => time.writeMs),
    ms: sum((time) => time.ms),
  };
  const bytes = files.map(plainBytes);
  return formatTable([
    ["file", "MB", "read ms", "dequantize ms", "encode ms", "write ms", "total ms", "MB/s"],
    ...files.map((file, index) => row(file.name.replace(/\.bin$/, ""), bytes[index], times[index])),
    row(
      "total",
      bytes.reduce((a, b) => a + b, 0),
      total,
    ),
  ]);
}

function row(name: string, bytes: number, time: UnpackTiming): string[] {
  const { readMs, dequantizeMs, encodeMs, writeMs, ms } = time;
  const stages = [readMs, dequantizeMs, encodeMs, writeMs, ms].map((value) => value.toFixed(1));
  return [name, (bytes / 1e6).toFixed(2), ...stages, (bytes / 1000 / ms).toFixed(0)];
}

function plainBytes(file: StoredFile): number {
  return layoutChunks(file.tensors).reduce((sum, chunk) => sum + chunk.bytes, 0);
}
