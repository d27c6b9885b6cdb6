import { statSync } from "node:fs";
import { type InputFormat, type Item, readItems } from "./items.ts";

/** Where prompts come from. */
export interface Input {
  readonly format: InputFormat;
  /** Of CSV. */
  readonly columns: readonly string[] | undefined;
  /** Whether it can be read more than once. */
  readonly repeatable: boolean;
  /** Whether there are no prompts. */
  readonly empty: boolean;
  items(): AsyncIterable<Item>;
}

/**
 * Begin to read prompts.
 *
 * @param path `-` is stdin
 * @throws SluiceError as `readItems`
 */
export async function openInput(path: string, format: InputFormat): Promise<Input> {
  let columns: readonly string[] | undefined;
  const items = readItems(path, format, (found) => {
    columns = found;
  });
  const first = await items.next();
  const repeatable = path !== "-" && statSync(path).isFile();
  if (repeatable) await items.return(undefined);
  return {
    format,
    columns,
    repeatable,
    empty: first.done === true,
    items: () => (repeatable ? readItems(path, format) : resume(first, items)),
  };
}

async function* resume(first: IteratorResult<Item>, rest: AsyncGenerator<Item>): AsyncGenerator<Item> {
  if (first.done) return;
  yield first.value;
  yield* rest;
}
