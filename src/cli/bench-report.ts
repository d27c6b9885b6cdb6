/** What `bench` prints: columns and fields as llama-bench has them, so that the same scripts read both. */
import type { BenchmarkResult } from "../engine/benchmark.ts";

/** One test as JSON: llama-bench's fields first, then sluice's own. */
export interface BenchRecord {
  readonly build_commit: string;
  readonly cpu_info: string;
  readonly backends: string;
  readonly model_filename: string;
  readonly model_type: string;
  /** Bytes of all weights as unpacked. */
  readonly model_size: number;
  readonly model_n_params: number;
  readonly n_batch: number;
  readonly n_threads: number;
  readonly type_k: string;
  readonly type_v: string;
  readonly n_prompt: number;
  readonly n_gen: number;
  readonly n_depth: number;
  /** When the test ended: ISO 8601. */
  readonly test_time: string;
  readonly avg_ns: number;
  readonly stddev_ns: number;
  readonly avg_ts: number;
  readonly stddev_ts: number;
  readonly samples_ns: readonly number[];
  readonly samples_ts: readonly number[];
  readonly dtype: string;
  /** As `--ram` was given; "" streams everything. */
  readonly ram: string;
  readonly cold: boolean;
  readonly direct: boolean;
  readonly ring_bytes: number;
  readonly resident_bytes: number;
  /** Bytes that each sweep with logits reads. */
  readonly streamed_bytes: number;
  readonly peak_rss_bytes: number;
  /** Who guessed ahead, as `--draft` was given, and `--acceptance`; "": nobody, and the truth decided. */
  readonly draft: string;
  readonly acceptance: number | "";
  /** Tokens guessed in all repetitions, those that held, and tokens that a sweep brought. */
  readonly draft_n: number;
  readonly draft_n_accepted: number;
  readonly tokens_per_sweep: number;
}

/** The figures of a test. */
export function summarize({ test, samplesNs }: BenchmarkResult) {
  const samplesTs = samplesNs.map((ns) => (1e9 * test.tokens) / ns);
  return {
    n_prompt: test.kind === "pp" ? test.tokens : 0,
    n_gen: test.kind === "tg" ? test.tokens : 0,
    n_depth: 0,
    avg_ns: Math.round(mean(samplesNs)),
    stddev_ns: Math.round(deviation(samplesNs)),
    avg_ts: mean(samplesTs),
    stddev_ts: deviation(samplesTs),
    samples_ns: samplesNs,
    samples_ts: samplesTs,
  };
}

/** Heading and rule of the table; widths as llama-bench's, a minus aligns left. */
const COLUMNS = [
  ["model", -30],
  ["size", 10],
  ["params", 10],
  ["backend", -10],
  ["threads", 7],
  ["test", 15],
  ["t/s", 20],
] as const;

export function markdownHead(): string[] {
  const rule = COLUMNS.map(([, width]) => {
    const dashes = "-".repeat(Math.abs(width) - (width > 0 ? 1 : 0));
    return width > 0 ? `${dashes}:` : dashes;
  });
  return [markdownRow(COLUMNS.map(([name]) => name)), `| ${rule.join(" | ")} |`];
}

export function markdownLine(record: BenchRecord): string {
  const { n_prompt, n_gen, avg_ts, stddev_ts } = record;
  return markdownRow([
    record.model_type,
    scaled(record.model_size, [2 ** 30, "GiB"], [2 ** 20, "MiB"]),
    scaled(record.model_n_params, [1e9, "B"], [1e6, "M"]),
    record.backends,
    `${record.n_threads}`,
    n_gen > 0 ? `tg${n_gen}` : `pp${n_prompt}`,
    `${avg_ts.toFixed(2)} ± ${stddev_ts.toFixed(2)}`,
  ]);
}

type Unit = readonly [size: number, name: string];

function scaled(value: number, large: Unit, small: Unit): string {
  const [size, name] = value >= large[0] ? large : small;
  return `${(value / size).toFixed(2)} ${name}`;
}

function markdownRow(cells: readonly string[]): string {
  const padded = cells.map((cell, column) => {
    const width = COLUMNS[column][1];
    return width < 0 ? cell.padEnd(-width) : cell.padStart(width);
  });
  return `| ${padded.join(" | ")} |`;
}

/** Every field but the samples, as llama-bench's CSV. */
export function csvLines(records: readonly BenchRecord[]): string[] {
  const fields = Object.keys(records[0] ?? {}).filter(
    (name) => !name.startsWith("samples"),
  ) as (keyof BenchRecord)[];
  const quote = (value: unknown) => `"${`${value}`.replaceAll('"', '""')}"`;
  return [fields.join(","), ...records.map((record) => fields.map((name) => quote(record[name])).join(","))];
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Of a sample: 0 for a single value. */
function deviation(values: readonly number[]): number {
  if (values.length < 2) return 0;
  const middle = mean(values);
  return Math.sqrt(values.reduce((sum, value) => sum + (value - middle) ** 2, 0) / (values.length - 1));
}
