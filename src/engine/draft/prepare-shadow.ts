import { SluiceError } from "../../errors.ts";
import { formatBytes } from "../../format-bytes.ts";
import { ensureShadow, type ShadowOptions } from "../../shadow/make-shadow.ts";
import type { Cache } from "../../store/cache.ts";
import type { Engine } from "../engine.ts";
import type { EngineOptions } from "../engine-options.ts";
import { smallestShadow } from "../shadow.ts";

/**
 * Put the shadow of a model into its memory; it is made where it is not there yet.
 *
 * @throws SluiceError `bad-input` with the sums, where the budget has no room for it; those of `ensureShadow`
 */
export async function prepareShadow(
  engine: Engine,
  cache: Cache,
  options: ShadowOptions & Pick<EngineOptions, "ram">,
): Promise<void> {
  const { shadow } = engine;
  // Where all weights are in memory there is nothing to gain.
  if (shadow === undefined && engine.streamedBytes === 0) return;
  if (shadow === undefined) {
    const least = smallestShadow(cache);
    throw new SluiceError(
      "bad-input",
      `the smallest copy to guess with takes ${formatBytes(least)}, and there is no room for it ${options.ram === undefined ? "without a budget" : `in ${formatBytes(engine.residentBytes + engine.ringBytes)}`}`,
      { next: `Give --ram ${formatBytes(least + engine.ringBytes)} or more, or use --draft lookup.` },
    );
  }
  await ensureShadow(cache, shadow.dtype, options);
  await engine.loadShadow(options.signal);
}
