/** A thread that quantizes pieces of tensors. */
import { parentPort } from "node:worker_threads";
import { roundToF16 } from "../quant/f16.ts";
import { blockFormat } from "../quant/index.ts";
import { encode, type QuantizedType } from "./encode.ts";

export interface Piece {
  readonly from: string;
  readonly to: string;
  readonly values: number;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

const port = parentPort!;

port.on("message", ({ from, to, values, bytes }: Piece) => {
  const x = new Float32Array(values);
  blockFormat(from).dequantize(bytes, x, values);
  const { blockSize, blockBytes } = blockFormat(to);
  const made = new Uint8Array((values / blockSize) * blockBytes);
  if (to === "f32") made.set(new Uint8Array(x.buffer));
  else if (to === "f16") roundToF16(x, made, values);
  else encode(to as QuantizedType, x, made, values);
  port.postMessage(made, [made.buffer]);
});
