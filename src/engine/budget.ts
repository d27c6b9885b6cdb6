import { SluiceError } from "../errors.ts";
import { formatBytes } from "../format-bytes.ts";

/** What the process needs besides weights and KV cache: Node.js, tokenizer, working buffers, threads. */
export const OVERHEAD_BYTES = 200e6;
/** Of what is available, `auto` leaves this share alone. */
const AUTO_SHARE = 0.9;

/** Bytes of weights that may be in memory, ring included; "auto": as many as is safe. */
export type Ram = number | "auto";

/**
 * How many bytes of weights stay in memory.
 *
 * @param ram undefined: none, everything streams
 * @param kvBytes room to leave for the KV cache
 * @throws SluiceError `bad-input` with the sums, for a budget that cannot be kept
 */
export function residentBudget({
  ram,
  ringBytes,
  weightBytes,
  kvBytes,
  available,
}: {
  readonly ram: Ram | undefined;
  readonly ringBytes: number;
  readonly weightBytes: number;
  readonly kvBytes: number;
  readonly available: number;
}): number {
  if (ram === undefined) return 0;
  if (ram === "auto") {
    const safe = available * AUTO_SHARE - OVERHEAD_BYTES - kvBytes - ringBytes;
    return Math.max(0, Math.min(weightBytes, Math.floor(safe)));
  }
  if (ram < ringBytes)
    throw new SluiceError(
      "bad-input",
      `a budget of ${formatBytes(ram)} for weights is less than the ring that they stream through, ${formatBytes(ringBytes)}`,
      { next: "Give --ram more, or leave it out: then only the ring is used." },
    );
  const resident = Math.min(weightBytes, ram - ringBytes);
  const needed = resident + ringBytes + kvBytes + OVERHEAD_BYTES;
  if (needed > available)
    throw new SluiceError(
      "bad-input",
      `--ram ${formatBytes(ram)} cannot be kept: with ${formatBytes(kvBytes)} for the KV cache and ` +
        `${formatBytes(OVERHEAD_BYTES)} for everything else that is ${formatBytes(needed)}, and ${formatBytes(available)} are available`,
      { next: "Give --ram less (auto takes what is safe), or a smaller context with -c." },
    );
  return resident;
}
