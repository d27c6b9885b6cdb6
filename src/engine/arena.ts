import type { Address } from "../kernels/types.ts";

const PAGE = 65536;
/** A wasm32 memory ends at 4 GiB. */
export const MEMORY_BYTES = 2 ** 32;
const MAXIMUM_PAGES = MEMORY_BYTES / PAGE;
/** Cache lines, and more than any vector load needs. */
const ALIGNMENT = 64;

/** The engine's memory: grows, never shrinks, and hands out addresses. Untouched pages cost nothing. */
export class Arena {
  readonly memory = new WebAssembly.Memory({ initial: 1, maximum: MAXIMUM_PAGES, shared: true });
  #used = ALIGNMENT;

  /** @returns address of `bytes` zeroed bytes, a multiple of `alignment`. Throws RangeError past 4 GiB. */
  allocate(bytes: number, alignment = ALIGNMENT): Address {
    const address = Math.ceil(this.#used / alignment) * alignment;
    const end = address + bytes;
    const missing = Math.ceil(end / PAGE) - this.memory.buffer.byteLength / PAGE;
    if (missing > 0) this.memory.grow(missing);
    this.#used = end;
    return address;
  }

  /** The same, unless it would end behind `limit`. */
  allocateBelow(limit: number, bytes: number): Address | undefined {
    return this.#used + bytes + ALIGNMENT <= limit ? this.allocate(bytes) : undefined;
  }

  floats(address: Address, length: number): Float32Array {
    return new Float32Array(this.memory.buffer, address, length);
  }

  words(address: Address, length: number): Uint32Array {
    return new Uint32Array(this.memory.buffer, address, length);
  }
}
