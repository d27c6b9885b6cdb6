import type { Description, Outline } from "../architecture.ts";
import type { MetadataReader } from "../metadata-reader.ts";

const POSITIONS = { min: 0, max: 0xffff_ffff };

/**
 * A window in all layers but every `period`-th, of `attention.sliding_window` positions. None where that is absent or 0.
 *
 * @param otherwise the window where the metadata has none
 * @throws SluiceError `bad-model` where these layers have heads of another size
 */
export function readWindow(
  reader: MetadataReader,
  { headSize, rope }: Outline,
  period: number,
  otherwise = 0,
): Pick<Description, "window"> {
  const positions = reader.integer("attention.sliding_window", POSITIONS) ?? otherwise;
  if (positions === 0) return {};
  for (const [name, size] of [
    ["attention.key_length_swa", headSize],
    ["attention.value_length_swa", headSize],
    ["rope.dimension_count_swa", rope.dimensions],
  ] as const) {
    const other = reader.integer(name, POSITIONS) ?? size;
    if (other !== size)
      throw reader.fail(`${name} is ${other}, and ${size} in the other layers; they must agree`);
  }
  const every = reader.scalarInteger("attention.sliding_window_pattern", POSITIONS) ?? period;
  return { window: (layer) => (every === 0 || layer % every < every - 1 ? positions : undefined) };
}
