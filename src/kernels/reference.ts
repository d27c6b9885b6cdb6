import { bf16ToF32, f32ToF16, halfToFloatTable } from "../quant/half.ts";
import { BLOCK_BYTES, BLOCK_COLUMNS, PANEL_ROWS, panelBytes, WEIGHTS_BYTES } from "../store/panel.ts";
import { readPanelRow } from "../store/panel-row.ts";
import type { BlockDtype, LowDtype, PackedDtype } from "../store/types.ts";
import { keyOffset, q8Places, SCALE_COLUMNS, valueDistance } from "./kv-layout.ts";
import type { Address, AttentionShape, Kernels } from "./types.ts";

const LARGEST_INT16 = 32512;

/**
 * The kernels in plain TypeScript: sums in float64, results in float32.
 *
 * @param buffer the engine's memory; after it has grown, make new kernels over the new buffer
 */
export function createReferenceKernels(buffer: ArrayBufferLike): Kernels {
  const f32 = new Float32Array(buffer);
  const i8 = new Int8Array(buffer);
  const i16 = new Int16Array(buffer);
  const u16 = new Uint16Array(buffer);
  const u32 = new Uint32Array(buffer);
  const halves = halfToFloatTable();

  return {
    matmulF32: multiplyFloats(4, (at) => f32[at]),
    matmulF16: multiplyFloats(2, (at) => halves[u16[at]]),
    matmulBf16: multiplyFloats(2, (at) => bf16ToF32(u16[at])),

    quantizeRows(x, rows, columns, firstRow, endRow, firstColumn, endColumn, q, scales) {
      for (let row = firstRow; row < endRow; row++) {
        const { start, lanes, lane } = tileOf(row, rows);
        for (let first = firstColumn; first < endColumn; first += BLOCK_COLUMNS) {
          const from = x / 4 + row * columns + first;
          let largest = 0;
          for (let i = 0; i < BLOCK_COLUMNS; i++) largest = Math.max(largest, Math.abs(f32[from + i]));
          const block = ((start * columns) / BLOCK_COLUMNS + (first / BLOCK_COLUMNS) * lanes) * 2 + lane;
          const scale = Math.fround(largest / LARGEST_INT16);
          f32[scales / 4 + block] = scale;
          let sum = 0;
          const inverse = largest > 0 ? Math.fround(LARGEST_INT16 / largest) : 0;
          for (let i = 0; i < BLOCK_COLUMNS; i++) {
            const quad = start * columns + (first + i - (i % 4)) * lanes + lane * 4 + (i % 4);
            i16[q / 2 + quad] = roundHalfEven(Math.fround(f32[from + i] * inverse));
            sum += i16[q / 2 + quad];
          }
          f32[scales / 4 + block + lanes] = sum * scale;
        }
      }
    },

    matmulQ8: multiplyBlocks("q8", (block, place) => i8[block + place]),
    matmulQ4: multiplyBlocks("q4", (block, place) => {
      const quads = i8[block + (place % WEIGHTS_BYTES.q4)];
      return place < WEIGHTS_BYTES.q4 ? (quads << 28) >> 28 : quads >> 4;
    }),

    matmulLow: multiplyRows,
    matmulPacked: multiplyRows,

    rmsNorm(x, weight, width, epsilon, y) {
      const from = x / 4;
      let sum = 0;
      for (let i = 0; i < width; i++) sum += f32[from + i] * f32[from + i];
      const scale = 1 / Math.sqrt(sum / width + epsilon);
      for (let i = 0; i < width; i++) f32[y / 4 + i] = f32[from + i] * scale * f32[weight / 4 + i];
    },

    layerNorm(x, weight, width, epsilon, y) {
      const from = x / 4;
      let mean = 0;
      for (let i = 0; i < width; i++) mean += f32[from + i] / width;
      let variance = 0;
      for (let i = 0; i < width; i++) variance += (f32[from + i] - mean) ** 2 / width;
      const scale = 1 / Math.sqrt(variance + epsilon);
      for (let i = 0; i < width; i++) f32[y / 4 + i] = (f32[from + i] - mean) * scale * f32[weight / 4 + i];
    },

    add(x, y, count) {
      for (let i = 0; i < count; i++) f32[y / 4 + i] += f32[x / 4 + i];
    },

    swiglu: gated((gate) => gate / (1 + Math.exp(-gate))),
    geglu: gated(gelu),

    gelu(x, count, y) {
      for (let i = 0; i < count; i++) f32[y / 4 + i] = gelu(f32[x / 4 + i]);
    },

    scale(x, factor, count) {
      for (let i = 0; i < count; i++) f32[x / 4 + i] *= Math.fround(factor);
    },

    softCap(x, cap, count) {
      for (let i = 0; i < count; i++) f32[x / 4 + i] = cap * Math.tanh(f32[x / 4 + i] / cap);
    },

    rope(x, heads, headSize, table, dimensions, neox) {
      const [step, partner] = neox ? [1, dimensions / 2] : [2, 1];
      for (let head = 0; head < heads; head++) {
        for (let i = 0; i < dimensions; i += 2) {
          const at = x / 4 + head * headSize + (i / 2) * step;
          const cos = f32[table / 4 + i];
          const sin = f32[table / 4 + i + 1];
          const a = f32[at];
          const b = f32[at + partner];
          f32[at] = a * cos - b * sin;
          f32[at + partner] = a * sin + b * cos;
        }
      }
    },

    storeKv(keys, values, shape, blocks, position) {
      const { kvHeads, headSize, kvType } = shape;
      for (let head = 0; head < kvHeads; head++) {
        const from = head * headSize;
        const { key, value, within } = headAt(shape, blocks, head, position);
        for (let i = 0; i < headSize; i++) {
          const [keyValue, valueValue] = [f32[keys / 4 + from + i], f32[values / 4 + from + i]];
          const at = within * headSize + i;
          if (kvType === "f32") {
            f32[key / 4 + at] = keyValue;
            f32[value / 4 + at] = valueValue;
          } else if (kvType === "f16") {
            u16[key / 2 + at] = f32ToF16(keyValue);
            u16[value / 2 + at] = f32ToF16(valueValue);
          } else {
            const places = q8Places(shape, within, i);
            if (i % SCALE_COLUMNS === 0) {
              const end = Math.min(headSize, i + SCALE_COLUMNS);
              u16[(key + places.keyScale) / 2] = scaleOf(keys / 4 + from, i, end);
              u16[(value + places.valueScale) / 2] = scaleOf(values / 4 + from, i, end);
            }
            i8[key + places.key] = roundToScale(keyValue, halves[u16[(key + places.keyScale) / 2]]);
            i8[value + places.value] = roundToScale(valueValue, halves[u16[(value + places.valueScale) / 2]]);
          }
        }
      }
    },

    attention(q, shape, blocks, position, firstHead, endHead, _scratch, out) {
      const { heads, kvHeads, headSize, blockPositions, kvType, cap, window = position + 1 } = shape;
      const start = Math.max(0, position + 1 - window);
      const readKey = (head: number, within: number, i: number): number => {
        if (kvType !== "q8") return readFloat(head, within, i);
        const { key, keyScale } = q8Places(shape, within, i);
        return i8[head + key] * halves[u16[(head + keyScale) / 2]];
      };
      const readValue = (head: number, within: number, i: number): number => {
        if (kvType !== "q8") return readFloat(head, within, i);
        const { value, valueScale } = q8Places(shape, within, i);
        return i8[head + value] * halves[u16[(head + valueScale) / 2]];
      };
      const readFloat = (head: number, within: number, i: number): number => {
        const at = within * headSize + i;
        return kvType === "f32" ? f32[head / 4 + at] : halves[u16[head / 2 + at]];
      };
      const { scale = 1 / Math.sqrt(headSize) } = shape;
      const scores = new Float64Array(blockPositions);
      const sums = new Float64Array(headSize);
      for (let head = firstHead; head < endHead; head++) {
        const query = q / 4 + head * headSize;
        const kvHead = Math.floor((head * kvHeads) / heads);
        let maximum = -Infinity;
        let total = 0;
        sums.fill(0);
        for (let first = start - (start % blockPositions); first <= position; first += blockPositions) {
          const begin = Math.max(0, start - first);
          const count = Math.min(blockPositions, position + 1 - first);
          const { key, value } = headAt(shape, blocks, kvHead, first);
          let blockMaximum = maximum;
          for (let p = begin; p < count; p++) {
            let dot = 0;
            for (let i = 0; i < headSize; i++) dot += f32[query + i] * readKey(key, p, i);
            scores[p] = cap === undefined ? dot * scale : cap * Math.tanh((dot * scale) / cap);
            if (scores[p] > blockMaximum) blockMaximum = scores[p];
          }
          // What was summed so far was scaled by e^-maximum of then.
          const rescale = Math.exp(maximum - blockMaximum);
          maximum = blockMaximum;
          total *= rescale;
          for (let i = 0; i < headSize; i++) sums[i] *= rescale;
          for (let p = begin; p < count; p++) {
            const weight = Math.exp(scores[p] - maximum);
            total += weight;
            for (let i = 0; i < headSize; i++) sums[i] += weight * readValue(value, p, i);
          }
        }
        for (let i = 0; i < headSize; i++) f32[out / 4 + head * headSize + i] = sums[i] / total;
      }
    },
  };

  /**
   * @param bytes of a weight
   * @param weight value of the weight at an index that counts weights
   */
  function multiplyFloats(bytes: number, weight: (at: number) => number): Kernels["matmulF32"] {
    return (panels, count, columns, x, rows, y, yStride) => {
      for (let row = 0; row < rows; row++) {
        for (let i = 0; i < count * PANEL_ROWS; i++) {
          const lane = i % PANEL_ROWS;
          const first = panels / bytes + (i - lane) * columns + lane;
          let sum = 0;
          for (let column = 0; column < columns; column++)
            sum += weight(first + column * PANEL_ROWS) * f32[x / 4 + row * columns + column];
          f32[y / 4 + row * yStride + i] = sum;
        }
      }
    };
  }

  /** Of dtypes whose rows are read one by one. */
  function multiplyRows(
    dtype: PackedDtype | LowDtype,
    panels: Address,
    count: number,
    columns: number,
    q: Address,
    scales: Address,
    rows: number,
    y: Address,
    yStride: number,
  ): void {
    const bytes = panelBytes(dtype, columns);
    const weights = new Float32Array(columns);
    for (let i = 0; i < count * PANEL_ROWS; i++) {
      const panel = new Uint8Array(buffer, panels + Math.floor(i / PANEL_ROWS) * bytes, bytes);
      readPanelRow(dtype, panel, i % PANEL_ROWS, weights);
      for (let row = 0; row < rows; row++) {
        const { start, lanes, lane } = tileOf(row, rows);
        let sum = 0;
        for (let column = 0; column < columns; column++) {
          const block = (start * columns) / BLOCK_COLUMNS + Math.floor(column / BLOCK_COLUMNS) * lanes;
          const quad = start * columns + (column - (column % 4)) * lanes + lane * 4 + (column % 4);
          sum += weights[column] * i16[q / 2 + quad] * f32[scales / 4 + block * 2 + lane];
        }
        f32[y / 4 + row * yStride + i] = sum;
      }
    }
  }

  /** @param weight integer of a block at its place among the quads */
  function multiplyBlocks(
    dtype: BlockDtype,
    weight: (block: number, place: number) => number,
  ): Kernels["matmulQ8"] {
    return (panels, count, columns, q, scales, rows, y, yStride) => {
      const blocks = columns / BLOCK_COLUMNS;
      for (let row = 0; row < rows; row++) {
        const { start, lanes, lane } = tileOf(row, rows);
        for (let i = 0; i < count * PANEL_ROWS; i++) {
          const panelRow = i % PANEL_ROWS;
          const panel = panels + ((i - panelRow) / PANEL_ROWS) * panelBytes(dtype, columns);
          let sum = 0;
          for (let block = 0; block < blocks; block++) {
            const w = panel + block * BLOCK_BYTES[dtype];
            let dot = 0;
            for (let quad = 0; quad < BLOCK_COLUMNS / 4; quad++) {
              const x = q / 2 + start * columns + (block * BLOCK_COLUMNS + quad * 4) * lanes + lane * 4;
              for (let j = 0; j < 4; j++) dot += weight(w, quad * 16 + panelRow * 4 + j) * i16[x + j];
            }
            const scale = halves[u16[(w + WEIGHTS_BYTES[dtype]) / 2 + panelRow]];
            sum += dot * scale * f32[scales / 4 + (start * blocks + block * lanes) * 2 + lane];
          }
          f32[y / 4 + row * yStride + i] = sum;
        }
      }
    };
  }

  /** y = activation(gate) × up. */
  function gated(activation: (gate: number) => number): Kernels["swiglu"] {
    return (gateUp, count, y) => {
      for (let i = 0; i < count; i++) {
        const lane = i % PANEL_ROWS;
        const at = gateUp / 4 + (i - lane) * 2 + lane;
        f32[y / 4 + i] = activation(f32[at]) * f32[at + PANEL_ROWS];
      }
    };
  }

  function gelu(x: number): number {
    if (Math.abs(x) >= 10) return Math.max(0, x);
    const v = toHalf(x);
    return toHalf(v / (1 + Math.exp(-2 * Math.sqrt(2 / Math.PI) * (v + 0.044715 * v ** 3))));
  }

  function toHalf(value: number): number {
    return halves[f32ToF16(value)];
  }

  /** Addresses where a head's keys and values begin in the block of a position, and which of the block it is. */
  function headAt(
    shape: AttentionShape,
    blocks: number,
    kvHead: number,
    position: number,
  ): { key: number; value: number; within: number } {
    const within = position % shape.blockPositions;
    const block = u32[blocks / 4 + (position - within) / shape.blockPositions];
    const key = block + keyOffset(shape, kvHead);
    return { key, value: key + valueDistance(shape), within };
  }

  /** The float16 scale of columns [first, end) of a row, rounded up, so that no value is beyond 127. */
  function scaleOf(row: number, first: number, end: number): number {
    let largest = 0;
    for (let i = first; i < end; i++) largest = Math.max(largest, Math.abs(f32[row + i]));
    const half = f32ToF16(Math.fround(largest / 127));
    return Math.fround(halves[half] * 127) < largest ? half + 1 : half;
  }
}

function roundToScale(value: number, scale: number): number {
  return scale > 0 ? roundHalfEven(Math.fround(value * Math.fround(1 / scale))) : 0;
}

/** Which tile of four rows a row lies in, or that it lies alone. */
function tileOf(row: number, rows: number): { start: number; lanes: number; lane: number } {
  const tile = row - (row % 4);
  return tile + 4 <= rows ? { start: tile, lanes: 4, lane: row - tile } : { start: row, lanes: 1, lane: 0 };
}

function roundHalfEven(value: number): number {
  const floor = Math.floor(value);
  const rest = value - floor;
  return rest < 0.5 || (rest === 0.5 && floor % 2 === 0) ? floor : floor + 1;
}
