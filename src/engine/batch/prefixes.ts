import { MAXIMUM_ROWS } from "../buffers.ts";
import { commonPrefix } from "../session.ts";
import type { Member } from "./member.ts";
import type { BatchRequest } from "./types.ts";

type AnyMember = Member<BatchRequest>;

/** A beginning that others compute is waited for where it has so many tokens. */
const WORTH_WAITING = 16;

/** Where a member can begin. */
export interface Beginning {
  readonly from: AnyMember;
  readonly length: number;
}

/**
 * The longest beginning of a member that has not begun that others have computed already.
 *
 * @param earlier members that are computed first
 * @param others further ones
 * @returns "wait" where an earlier one is about to compute much more
 */
export function findBeginning(
  member: AnyMember,
  earlier: readonly AnyMember[],
  others: readonly AnyMember[],
): Beginning | "wait" | undefined {
  let best: Beginning | undefined;
  let soon = 0;
  for (const [index, from] of [...earlier, ...others].entries()) {
    const alike = alikeUpTo(from, member);
    if (index < earlier.length) soon = Math.max(soon, alike);
    const length = Math.min(alike, wholeTiles(from.computed));
    if (length > (best?.length ?? 0)) best = { from, length };
  }
  return soon - (best?.length ?? 0) >= WORTH_WAITING ? "wait" : best;
}

/** Let a member begin with what another one has. @throws SluiceError `context-full` */
export function beginAs(member: AnyMember, { from, length }: Beginning): void {
  member.sequence!.truncate(0);
  member.sequence!.beginAs(from.sequence!, length);
  member.computed = length;
  member.reused = Math.min(length, member.request.prompt.length);
  member.recalled = 0;
}

/**
 * How many positions of two members have the same keys and values to the bit: the same tokens, computed in the same way.
 * The last token of `member` is not among them, for the logits after it are wanted; and only whole tiles are.
 */
function alikeUpTo(from: AnyMember, member: AnyMember): number {
  const common = Math.min(commonPrefix(from.tokens, member.tokens), member.tokens.length - 1);
  const shorter = Math.min(from.request.prompt.length, member.request.prompt.length);
  // Before the last sweep of the shorter prompt all are of the same kind.
  let alike = Math.min(common, shorter - (shorter % MAXIMUM_ROWS));
  while (alike < common && from.kindAt(alike) === member.kindAt(alike)) alike++;
  return wholeTiles(alike);
}

function wholeTiles(positions: number): number {
  return positions - (positions % 4);
}
