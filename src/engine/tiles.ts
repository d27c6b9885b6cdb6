/**
 * How the rows of a sweep are computed. Four rows at a time share the weights that are loaded for them, and then sums of
 * float weights are added up in another order than for a row alone; and rows of a long prompt may be rounded to 8 bits.
 * So what a row gives depends, in its last bits, on its company. Here the company is named: a row in a sweep of many
 * sequences gets the kind that it has where its sequence is computed alone, and gives the same to the bit.
 */
import { MAXIMUM_ROWS } from "./buffers.ts";

/** Rows of a sweep in order of their kinds; each of the first two comes in whole tiles of four. */
export interface Tiles {
  /** The first of the rows, whose activations may be rounded to 8 bits. */
  readonly bytes: number;
  /** The first of the rows, those in bytes included, that are multiplied four at a time. */
  readonly tiled: number;
  /** The same of the rows that ask for logits, where they are multiplied with the output matrix. */
  readonly tiledAsked: number;
}

/** Kinds of rows, in the order in which they lie in a sweep. */
export const ROW_KINDS = ["bytes", "tiled", "alone"] as const;
export type RowKind = (typeof ROW_KINDS)[number];

/** Rows from which on activations may be rounded to 8 bits. */
const BYTE_ROWS = 32;

/** Rows of which each is computed as if it were the only one. */
export const ALONE: Tiles = { bytes: 0, tiled: 0, tiledAsked: 0 };

/** Those of a sweep of one sequence: as many tiles as there are. */
export function usualTiles(rows: number, asked: number): Tiles {
  const tiled = wholeTiles(rows);
  return { bytes: rows < BYTE_ROWS ? 0 : tiled, tiled, tiledAsked: wholeTiles(asked) };
}

/** The kind of a position of a prompt of so many tokens, computed alone from its beginning; a generated token is alone. */
export function rowKind(position: number, promptLength: number): RowKind {
  if (position >= promptLength) return "alone";
  const place = position % MAXIMUM_ROWS;
  const { bytes, tiled } = usualTiles(Math.min(MAXIMUM_ROWS, promptLength - (position - place)), 0);
  if (place < bytes) return "bytes";
  return place < tiled ? "tiled" : "alone";
}

function wholeTiles(rows: number): number {
  return rows - (rows % 4);
}
