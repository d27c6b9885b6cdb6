import type { RecordedStage, Recording } from "./recording.ts";

const COLUMNS = [
  ...["kind", "sweep", "rows", "start_ms", "ms", "handover_ms", "sample_ms", "stage", "bytes", "read_ms"],
  ...["wait_ms", "compute_ms", "attention_ms", "feed_forward_ms", "dequantize_ms", "encode_ms", "write_ms"],
] as const;
type Line = Partial<Record<(typeof COLUMNS)[number], string | number>>;

/** One line for each file of an unpack and for each stage of each sweep; what a line has no value for is empty. A sweep's own times are on each of its lines. */
export function csvText({ unpack, sweeps }: Recording): string {
  const files = (unpack?.files ?? []).map(
    (file): Line => ({
      kind: "unpack",
      start_ms: file.startMs,
      ms: file.ms,
      stage: file.name,
      bytes: file.stored,
      read_ms: file.readMs,
      dequantize_ms: file.dequantizeMs,
      encode_ms: file.encodeMs,
      write_ms: file.writeMs,
    }),
  );
  const stages = sweeps.flatMap((recorded, sweep) => {
    const { kind, rows, startMs, ms, handoverMs, sampleMs, embedding, layers, output } = recorded;
    const line = (stage: string | number, part: RecordedStage): Line => ({
      ...{ kind, sweep, rows, start_ms: startMs, ms, sample_ms: sampleMs, stage },
      ...(handoverMs !== undefined && { handover_ms: handoverMs }),
      bytes: part.bytes,
      read_ms: part.readMs,
      wait_ms: part.waitMs,
      compute_ms: part.computeMs,
      ...(part.attentionMs !== undefined && { attention_ms: part.attentionMs }),
      ...(part.feedForwardMs !== undefined && { feed_forward_ms: part.feedForwardMs }),
    });
    return [
      line("embedding", embedding),
      ...layers.map((layer, index) => line(index, layer)),
      line("output", output),
    ];
  });
  const lines = [...files, ...stages].map((line) => COLUMNS.map((column) => `${line[column] ?? ""}`));
  return `${[COLUMNS, ...lines].map((cells) => cells.map(quoted).join(",")).join("\n")}\n`;
}

/** As RFC 4180 has it. */
function quoted(cell: string): string {
  return /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}
