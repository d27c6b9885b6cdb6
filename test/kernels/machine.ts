import { createReferenceKernels } from "../../src/kernels/reference.ts";
import { compileKernels, createRelaxedKernels, createWasmKernels } from "../../src/kernels/wasm.ts";

const PAGE = 65536;
const wasmModule = compileKernels();
const FACTORIES = {
  reference: (memory: WebAssembly.Memory) => createReferenceKernels(memory.buffer),
  wasm: (memory: WebAssembly.Memory) => createWasmKernels(wasmModule, memory),
  /** With relaxed SIMD, where the engine has it. */
  relaxed: (memory: WebAssembly.Memory) =>
    createWasmKernels(wasmModule, memory, createRelaxedKernels(memory)),
};

/** A memory to compute in, with a bump allocator. */
export function machine(which: keyof typeof FACTORIES) {
  const memory = new WebAssembly.Memory({ initial: 64, maximum: 64, shared: true });
  let used = 64;
  const place = (data: Float32Array | Uint8Array | Uint32Array) => {
    const address = used;
    new Uint8Array(memory.buffer, address, data.byteLength).set(
      new Uint8Array(data.buffer, data.byteOffset, data.byteLength),
    );
    used = Math.ceil((used + data.byteLength) / 64) * 64;
    if (used > 64 * PAGE) throw new Error("the test needs more memory");
    return address;
  };
  const floats = (address: number, length: number) =>
    new Float32Array(memory.buffer, address, length).slice();
  return { kernels: FACTORIES[which](memory), memory, place, floats };
}
