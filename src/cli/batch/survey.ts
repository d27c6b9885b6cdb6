import type { Input } from "./input.ts";
import type { Item } from "./items.ts";
import { refusal } from "./output-file.ts";
import { isInShard, type Shard } from "./shard.ts";

/** Results that are there already, by index, and the name of the file that has them. */
export interface Results {
  readonly name: string;
  readonly done: ReadonlyMap<number, string>;
}

/**
 * Count the prompts of a file, and find out whether the results that are there belong to them.
 *
 * @throws SluiceError `bad-input` where they do not, and those of `readItems`
 */
export async function surveyFile(
  input: Input,
  shard: Shard,
  results: Results,
  keyOf: (item: Item) => string,
): Promise<{ readonly total: number; readonly done: number }> {
  let total = 0;
  let done = 0;
  for await (const item of input.items()) {
    if (!isInShard(item.index, shard)) continue;
    total++;
    if (isDone(item, results, keyOf)) done++;
  }
  if (done < results.done.size) {
    const wanted = done === 0 ? "another input, or of another shard" : "prompts that are not asked for";
    throw refusal(results.name, `it has results of ${wanted}`);
  }
  return { total, done };
}

/** @throws SluiceError `bad-input` where the result that is there is one of another prompt, model or option */
export function isDone(item: Item, { name, done }: Results, keyOf: (item: Item) => string): boolean {
  const key = done.get(item.index);
  if (key === undefined || key === keyOf(item)) return key !== undefined;
  throw refusal(
    name,
    `what it has for prompt ${item.index + 1} (line ${item.line}) comes from another prompt, model or option`,
  );
}
