import { InvalidArgumentError } from "commander";

/** Which prompts of an input are meant: every `of`-th, beginning with number `number`, from 1. */
export interface Shard {
  readonly number: number;
  readonly of: number;
}

/** Parser of `3/8`. */
export function parseShard(text: string): Shard {
  const [, number, of] = (/^(\d{1,9})\/(\d{1,9})$/.exec(text.trim()) ?? []).map(Number);
  if (of === undefined || of === 0) throw new InvalidArgumentError("It must be like 1/4.");
  if (number < 1 || number > of)
    throw new InvalidArgumentError(`Shards are counted from 1: 1/${of} to ${of}/${of}.`);
  return { number, of };
}

/** Whether the prompt with so many before it is meant. */
export function isInShard(index: number, { number, of }: Shard): boolean {
  return index % of === number - 1;
}
