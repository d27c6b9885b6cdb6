import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeModel, PRESETS, type Shape } from "../../scripts/synthetic/model.mjs";
import { Model, type OpenOptions } from "../../src/engine/model.ts";
import { openGguf } from "../../src/gguf/open.ts";
import type { UnpackOptions } from "../../src/unpack/types.ts";
import { unpack } from "../../src/unpack/unpack.ts";
import { referenceLogits } from "../reference/transformer.ts";

/** A folder for models and caches that `remove` takes away again. */
export function modelFolder() {
  const folder = mkdtempSync(join(tmpdir(), "sluice-test-"));
  let models = 0;
  return {
    folder,
    /** A synthetic model file: the tiny preset with changes. */
    make(changes: Partial<Shape> = {}): string {
      const path = join(folder, `model-${models++}.gguf`);
      makeModel(path, { ...PRESETS["tiny"], ...changes });
      return path;
    },
    async unpack(path: string, options: Partial<UnpackOptions> = {}): Promise<string> {
      return (await unpack(path, { root: join(folder, "cache"), ...options })).folder;
    },
    async open(path: string, options: Partial<UnpackOptions> & OpenOptions = {}): Promise<Model> {
      return Model.open(await this.unpack(path, options), options);
    },
    remove(): void {
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export async function allLogits(model: Model, ids: readonly number[]): Promise<Float32Array[]> {
  const rows: Float32Array[] = [];
  await model.logits(ids, {
    onRow(position, logits) {
      rows[position] = logits;
    },
  });
  return rows;
}

export function fileLogits(path: string, ids: readonly number[]): Float64Array[] {
  const gguf = openGguf(path);
  try {
    return referenceLogits(gguf, ids);
  } finally {
    gguf.close();
  }
}

/** Mean squared error relative to the mean square of what is right. */
export function nmse(got: readonly ArrayLike<number>[], want: readonly ArrayLike<number>[]): number {
  let error = 0;
  let power = 0;
  for (const [row, values] of want.entries())
    for (let i = 0; i < values.length; i++) {
      error += (got[row][i] - values[i]) ** 2;
      power += values[i] ** 2;
    }
  return error / power;
}
