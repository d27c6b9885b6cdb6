import { availableParallelism } from "node:os";
import { dirname, resolve } from "node:path";
import { Worker } from "node:worker_threads";
import { SluiceError, throwIfAborted } from "../errors.ts";
import { formatBytes } from "../format-bytes.ts";
import { copyMetadata } from "../gguf/copy-metadata.ts";
import type { Gguf, TensorInfo } from "../gguf/types.ts";
import { GgufWriter, type MetadataInput } from "../gguf/writer.ts";
import { openModel } from "../hf/open-model.ts";
import { blockFormat } from "../quant/index.ts";
import { ioError, isFull } from "../store/io-error.ts";
import { mediumOf } from "../store/medium.ts";
import { PIECE_VALUES } from "./fit.ts";
import { fileType, type RecipeName, typeOf } from "./mix.ts";
import type { Piece } from "./worker.ts";

export interface QuantizeOptions {
  readonly threads?: number;
  readonly signal?: AbortSignal;
  /** Called with the bytes of the source that are done, and all of them. */
  readonly onProgress?: (done: number, total: number, tensor: string) => void;
}

export interface Quantized {
  readonly path: string;
  readonly sourceBytes: number;
  readonly bytes: number;
  /** Tensors of each type. */
  readonly types: ReadonlyMap<string, number>;
  readonly ms: number;
}

const FLOATS = new Set(["f32", "f16", "bf16"]);
/** Pieces that are under way at once, for each thread: one at work, one that waits. */
const AHEAD = 2;

/**
 * Write a model with its matrices in fewer bits, in a stream: memory holds a few pieces of 256 Ki weights for each thread.
 * The file appears under its name when it is whole; one that is there already is replaced then.
 *
 * @param from a GGUF file of F32, F16 or BF16 weights
 * @throws SluiceError `bad-input` for a source that is quantized already; `bad-model`, `unsupported`; `io`, `no-space`;
 *   `aborted`
 */
export async function quantizeModel(
  from: string,
  path: string,
  recipe: RecipeName,
  options: QuantizeOptions = {},
): Promise<Quantized> {
  const start = performance.now();
  const gguf = openModel(from);
  const threads = options.threads ?? availableParallelism();
  const team = new Team(threads);
  try {
    const tensors = planTensors(gguf, recipe);
    checkSpace(path, tensors);
    const writer = attempt(path, () => new GgufWriter(path, { metadata: metadata(gguf, recipe), tensors }));
    try {
      await writeTensors(gguf, tensors, (bytes) => attempt(path, () => writer.write(bytes)), team, options);
      attempt(path, () => writer.close());
    } catch (error) {
      writer.abort();
      throw error;
    }
    const types = new Map<string, number>();
    for (const { type } of tensors) types.set(type, (types.get(type) ?? 0) + 1);
    const bytes = tensors.reduce((sum, { newBytes }) => sum + newBytes, 0);
    return { path, sourceBytes: gguf.fileBytes, bytes, types, ms: performance.now() - start };
  } finally {
    gguf.close();
    await team.stop();
  }
}

interface Planned extends Pick<TensorInfo, "name" | "shape" | "type"> {
  readonly source: TensorInfo;
  readonly values: number;
  readonly newBytes: number;
}

function planTensors(gguf: Gguf, recipe: RecipeName): Planned[] {
  const all = [...gguf.tensors.values()];
  const quantized = all.filter(({ type, shape }) => shape.length > 1 && !FLOATS.has(type));
  if (quantized.length > 0)
    throw new SluiceError(
      "bad-input",
      `${gguf.path} is quantized already: ${quantized.length} of its ${all.length} tensors, ${quantized[0].name} is ${quantized[0].type}`,
      { next: "Give the file in F32, F16 or BF16 that it was made from: each rounding loses more." },
    );
  // Said before anything is written.
  for (const { name, type } of all) blockFormat(type, `${gguf.path}: tensor ${name}`);
  const layers = 1 + Math.max(-1, ...all.map(({ name }) => Number(/^blk\.(\d+)\./.exec(name)?.[1] ?? -1)));
  const tied = !gguf.tensors.has("output.weight");
  return all.map((source) => {
    const values = source.shape.reduce((product, size) => product * size, 1);
    const type = typeOf(recipe, source, layers, tied);
    const { blockSize, blockBytes } = blockFormat(type, source.name);
    const newBytes = (values / blockSize) * blockBytes;
    return { name: source.name, shape: source.shape, type, source, values, newBytes };
  });
}

function* metadata(gguf: Gguf, recipe: RecipeName): Generator<readonly [string, MetadataInput]> {
  const own = new Map<string, MetadataInput>([
    ["general.quantization_version", { type: "uint32", value: 2 }],
    ["general.file_type", { type: "uint32", value: fileType(recipe) }],
  ]);
  for (const [key, value] of copyMetadata(gguf))
    if (!own.has(key) && !key.startsWith("split.")) yield [key, value];
  yield* own;
}

function checkSpace(path: string, tensors: readonly Planned[]): void {
  const needed = tensors.reduce((sum, { newBytes }) => sum + newBytes, 0);
  const folder = dirname(resolve(path));
  const { freeBytes } = mediumOf(folder);
  if (freeBytes >= needed) return;
  throw new SluiceError(
    "no-space",
    `not enough disk space: ${path} takes ${formatBytes(needed)}, ${folder} has ${formatBytes(freeBytes)} free`,
    { next: "Free some space, write to another disk, or choose a type of fewer bits." },
  );
}

async function writeTensors(
  gguf: Gguf,
  tensors: readonly Planned[],
  write: (bytes: Uint8Array) => void,
  team: Team,
  { signal, onProgress }: QuantizeOptions,
): Promise<void> {
  const total = tensors.reduce((sum, { source }) => sum + source.bytes, 0);
  let done = 0;
  const underWay: { readonly made: Promise<Uint8Array>; readonly bytes: number; readonly name: string }[] =
    [];
  const writeFirst = async () => {
    const { made, bytes, name } = underWay.shift()!;
    write(await made);
    done += bytes;
    onProgress?.(done, total, name);
    throwIfAborted(signal);
  };
  for (const { name, source, type, values } of tensors) {
    const bytesPerPiece = (PIECE_VALUES / values) * source.bytes;
    for (let at = 0; at < source.bytes; at += bytesPerPiece) {
      const bytes = new Uint8Array(Math.min(bytesPerPiece, source.bytes - at));
      gguf.read(source.offset + at, bytes);
      const piece = { from: source.type, to: type, values: (bytes.length / source.bytes) * values, bytes };
      const made = type === source.type ? Promise.resolve(bytes) : team.quantize(piece);
      underWay.push({ made, bytes: bytes.length, name });
      if (underWay.length >= AHEAD * team.threads) await writeFirst();
    }
  }
  while (underWay.length > 0) await writeFirst();
}

/** Threads that take pieces in turn. */
class Team {
  readonly threads: number;
  readonly #workers: readonly Worker[];
  readonly #waiting: {
    readonly resolve: (bytes: Uint8Array) => void;
    readonly reject: (error: Error) => void;
  }[][];
  #next = 0;

  constructor(threads: number) {
    this.threads = threads;
    this.#waiting = Array.from({ length: threads }, () => []);
    this.#workers = this.#waiting.map((waiting) => {
      const worker = new Worker(new URL("./worker.js", import.meta.url), { execArgv: [] });
      worker.on("message", (made: Uint8Array) => waiting.shift()?.resolve(made));
      worker.on("error", (error: Error) => {
        for (const { reject } of waiting.splice(0)) reject(error);
      });
      return worker;
    });
  }

  quantize(piece: Piece): Promise<Uint8Array> {
    const index = this.#next++ % this.threads;
    const made = new Promise<Uint8Array>((resolve, reject) => {
      this.#waiting[index].push({ resolve, reject });
      this.#workers[index].postMessage(piece, [piece.bytes.buffer]);
    });
    // Who waits for an earlier piece looks at this one later.
    made.catch(() => {});
    return made;
  }

  async stop(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.terminate()));
  }
}

function attempt<Result>(path: string, action: () => Result): Result {
  try {
    return action();
  } catch (error) {
    throw ioError(
      error,
      "write",
      path,
      isFull(error)
        ? "Free some space, write to another disk, or choose a type of fewer bits."
        : "Check the path of the file to be written.",
    );
  }
}
