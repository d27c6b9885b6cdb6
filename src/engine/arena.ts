import { SluiceError } from "../errors.ts";
import { formatBytes } from "../format-bytes.ts";
import type { Address } from "../kernels/types.ts";

const PAGE = 65536;
/** A wasm32 memory ends at 4 GiB. */
export const MEMORY_BYTES = 2 ** 32;
const MAXIMUM_PAGES = MEMORY_BYTES / PAGE;
/** Cache lines, and more than any vector load needs. */
const ALIGNMENT = 64;

/** The engine's memory: grows, never shrinks, and hands out addresses. Untouched pages cost nothing. */
export class Arena {
  readonly memory = createMemory();
  #used = ALIGNMENT;

  /**
   * @returns address of `bytes` zeroed bytes, a multiple of `alignment`
   * @throws SluiceError `unsupported` past 4 GiB, `io` where the operating system has no more
   */
  /** Bytes that were handed out. */
  get used(): number {
    return this.#used;
  }

  allocate(bytes: number, alignment = ALIGNMENT): Address {
    const address = Math.ceil(this.#used / alignment) * alignment;
    const end = address + bytes;
    const missing = Math.ceil(end / PAGE) - this.memory.buffer.byteLength / PAGE;
    if (missing > 0) this.#grow(missing);
    this.#used = end;
    return address;
  }

  /** The same, unless it would end behind `limit`. */
  allocateBelow(limit: number, bytes: number): Address | undefined {
    return this.#used + bytes + ALIGNMENT <= limit ? this.allocate(bytes) : undefined;
  }

  #grow(pages: number): void {
    const bytes = this.memory.buffer.byteLength + pages * PAGE;
    if (bytes > MEMORY_BYTES) {
      throw new SluiceError(
        "unsupported",
        `working memory of ${formatBytes(bytes)} is needed, and WebAssembly ends at ${formatBytes(MEMORY_BYTES)}`,
        { next: "Use a shorter context (-c) or fewer threads (-t)." },
      );
    }
    try {
      this.memory.grow(pages);
    } catch (cause) {
      throw noMemory(bytes, cause);
    }
  }

  bytes(address: Address, length: number): Uint8Array {
    return new Uint8Array(this.memory.buffer, address, length);
  }

  floats(address: Address, length: number): Float32Array {
    return new Float32Array(this.memory.buffer, address, length);
  }

  words(address: Address, length: number): Uint32Array {
    return new Uint32Array(this.memory.buffer, address, length);
  }
}

/** A shared memory cannot move, so its whole address space is set aside at once. */
function createMemory(): WebAssembly.Memory {
  try {
    return new WebAssembly.Memory({ initial: 1, maximum: MAXIMUM_PAGES, shared: true });
  } catch (cause) {
    throw noMemory(MEMORY_BYTES, cause);
  }
}

function noMemory(bytes: number, cause: unknown): SluiceError {
  return new SluiceError(
    "io",
    `the system does not give ${formatBytes(bytes)} of address space for working memory`,
    {
      next: "Raise the limit on address space (`ulimit -v unlimited`), or end other programs.",
      cause,
    },
  );
}
