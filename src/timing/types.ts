/** Time of one stage of a sweep: the embedding, a layer, or the output matrix. */
export interface StageTiming {
  /** Bytes read from disk for it. */
  bytes: number;
  /** Milliseconds that its reads took (they overlap with the computing of what came before). */
  readMs: number;
  /** Milliseconds that the computing stood still, waiting for its bytes. */
  waitMs: number;
  /** Milliseconds of arithmetic. */
  computeMs: number;
}

/** Time of one sweep: all layers over a batch of rows. */
export interface SweepTiming {
  /** Rows (tokens) that went through. */
  rows: number;
  ms: number;
  embedding: StageTiming;
  layers: StageTiming[];
  /** All zero where no row asked for logits. */
  output: StageTiming;
}
