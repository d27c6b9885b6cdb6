import type { Row } from "../row-filler.ts";
import { ROW_KINDS, type RowKind, type Tiles } from "../tiles.ts";
import type { Member } from "./member.ts";
import type { BatchRequest } from "./types.ts";

type AnyMember = Member<BatchRequest>;

/** Some tokens of a member in a sweep, from the first that is not computed on. */
export interface Part<M extends AnyMember> {
  readonly member: M;
  readonly count: number;
}

/**
 * Share out the rows of a sweep: one to each member that is at its answer, what is left to prompts in order.
 *
 * @param members those that can go on
 */
export function shareRows<M extends AnyMember>(members: readonly M[], maximumRows: number): Part<M>[] {
  let left = maximumRows;
  const parts: Part<M>[] = [];
  const add = (member: M, count: number) => {
    if (count > 0) parts.push({ member, count });
    left -= count;
  };
  for (const member of members) if (member.pending === 1) add(member, Math.min(1, left));
  for (const member of members) if (member.pending > 1) add(member, wholeTiles(member, left));
  return parts;
}

/** As many of a member's tokens as there is room for, and tiles are not torn. */
function wholeTiles(member: AnyMember, room: number): number {
  const { computed, pending } = member;
  if (pending <= room) return pending;
  const end = computed + room;
  return room > 0 && member.kindAt(end - 1) !== "alone" ? Math.max(0, end - (end % 4) - computed) : room;
}

/** A sweep: its rows, how they are computed, and whose logits come, in order. */
export interface PlannedSweep<M extends AnyMember> {
  readonly rows: readonly Row[];
  readonly tiles: Tiles;
  readonly asking: readonly M[];
}

/** The rows of a sweep, in the order of their kinds; those of a member stay in the order of their positions. */
export function planSweep<M extends AnyMember>(parts: readonly Part<M>[]): PlannedSweep<M> {
  const byKind: Record<RowKind, { readonly row: Row; readonly member: M }[]> = {
    bytes: [],
    tiled: [],
    alone: [],
  };
  for (const { member, count } of parts)
    for (let position = member.computed; position < member.computed + count; position++) {
      const row: Row = {
        sequence: member.sequence!,
        position,
        token: member.tokens[position],
        logits: position === member.tokens.length - 1,
      };
      byKind[member.kindAt(position)].push({ row, member });
    }
  const all = ROW_KINDS.flatMap((kind) => byKind[kind]);
  const bytes = byKind.bytes.length;
  return {
    rows: all.map(({ row }) => row),
    tiles: { bytes, tiled: bytes + byKind.tiled.length, tiledAsked: 0 },
    asking: all.filter(({ row }) => row.logits).map(({ member }) => member),
  };
}
