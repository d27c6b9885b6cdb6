import { stripVTControlCharacters } from "node:util";
import { describe, expect, it } from "vitest";
import { glyphsFor } from "../../src/cli/glyphs.ts";
import { textWidth } from "../../src/cli/text-width.ts";
import { type Look, watchLines } from "../../src/cli/watch-lines.ts";
import type { WatchState } from "../../src/cli/watch-state.ts";
import { watchLine } from "../../src/cli/watch-text.ts";

const unicode = glyphsFor({ LANG: "C.UTF-8" }, "linux");
const ascii = glyphsFor({}, "linux");
const plain: Look = { glyphs: unicode, colours: false, keys: "q stops" };

const LAYERS = 36;
function state(changes: Partial<WatchState> = {}): WatchState {
  return {
    title: "SmolLM3 3B · smollm3, 36 layers · q8 · 2 threads",
    stages: Array.from({ length: LAYERS + 1 }, () => ({ bytes: 80e6, residentBytes: 0 })),
    position: { stages: LAYERS + 1, brought: 22.5, computed: 21.25, ahead: 0, waiting: true, bytesRead: 5e9 },
    ...{ promptTokens: 300, promptDone: 300, tokenLimit: 256, contextLength: 65_536, phase: "answer" },
    ...{ weightBytes: 17.8e6, overheadBytes: 200e6, rssBytes: 171e6, kvBytes: 4.72e6, contextTokens: 356 },
    ...{ source: "disk", diskSpeed: 2.73e9, readRate: 2.41e9, highestRate: 2.5e9, waiting: 0.65 },
    ...{ tokens: 57, lastToken: " cat", text: "Once upon a time there was a cat" },
    ...{ seconds: 75.3, secondsPerToken: 1.214, secondsLeft: 241 },
    ...changes,
  };
}

const HOSTILE = "a\x1b]0;owned\x07b\x9b31m\tc\rd\x7f\u202e";
const STATES: Record<string, WatchState> = {
  usual: state(),
  "at the prompt": state({
    phase: "prompt",
    promptDone: 128,
    tokens: 0,
    text: "",
    secondsPerToken: undefined,
  }),
  "before anything": state({
    position: { stages: 0, brought: 0, computed: 0, ahead: 3, waiting: false, bytesRead: 0 },
    ...{ phase: "prompt", promptDone: 0, tokens: 0, text: "", readRate: 0, highestRate: 0 },
    ...{ secondsPerToken: undefined, secondsLeft: undefined, diskSpeed: undefined },
  }),
  hostile: state({ text: HOSTILE.repeat(50), lastToken: HOSTILE }),
  wide: state({
    text: "日本語のテキスト😀👩‍👩‍👧 e\u0301 ".repeat(300),
    title: "模型".repeat(40),
    lastToken: "語\n",
  }),
  "in memory": state({
    source: "memory",
    stages: Array.from({ length: 127 }, () => ({ bytes: 10, residentBytes: 10 })),
  }),
  "one layer": state({ stages: Array.from({ length: 2 }, () => ({ bytes: 10, residentBytes: 5 })) }),
  "without a limit": state({ tokenLimit: Infinity, secondsLeft: undefined }),
  "beyond its budget": state({ source: "page cache", rssBytes: 9e9, waiting: 1, secondsLeft: 1e7 }),
};

/** Every width at a usual height, and every height that changes what is shown at some widths. */
const SIZES = [
  ...Array.from({ length: 130 }, (_, index) => [index + 1, 26]),
  ...[1, 2, 3, 39, 40, 80, 133].flatMap((columns) =>
    [1, 2, 3, 9, 10, 11, 12, 13, 14, 23, 24, 25, 45].map((rows) => [columns, rows]),
  ),
];

describe.each(Object.entries(STATES))("%s", (_, shown) => {
  it("fits every window, and cannot drive the terminal", () => {
    for (const glyphs of [unicode, ascii])
      for (const [columns, rows] of SIZES) {
        const size = `${columns}x${rows}`;
        const lines = watchLines(shown, { columns, rows }, { ...plain, glyphs });
        if (columns > 1) expect(lines.length, size).toBe(rows);
        for (const line of lines) {
          expect(textWidth(line), `${size}: ${line}`).toBeLessThanOrEqual(columns);
          expect(line, size).toMatch(/^[^\p{Cc}\u202a-\u202e]*$/u);
        }
      }
  });

  it("says the same in colours", () => {
    const size = { columns: 100, rows: 30 };
    const coloured = watchLines(shown, size, { ...plain, colours: true });
    expect(coloured.map(stripVTControlCharacters)).toEqual(watchLines(shown, size, plain));
    expect(coloured.join("")).toContain("\x1b[");
  });
});

describe("on a window of 100x30", () => {
  const draw = (changes: Partial<WatchState> = {}) =>
    watchLines(state(changes), { columns: 100, rows: 30 }, plain);
  const line = (name: string, changes: Partial<WatchState> = {}) =>
    draw(changes).find((candidate) => candidate.startsWith(name)) ?? "";

  it("tells where reader and arithmetic are", () => {
    expect(line("read")).toMatch(/^read {5}█{45}·+ layer 22$/);
    expect(line("compute")).toMatch(/^compute {2}█{42}▌·+ layer 21$/);
    const all = { stages: 37, brought: 37, computed: 36.5, ahead: 4.5, waiting: false, bytesRead: 0 };
    expect(line("read", { position: all })).toMatch(/█{74} next 4$/);
    expect(line("compute", { position: all })).toMatch(/ output$/);
    expect(line("layer")).toMatch(/^layer {4}0 {3}2 .* 34 out$/);
    expect(line("resident")).toBe("");
  });

  it("shows what stays in memory where anything does", () => {
    const stages = Array.from({ length: 37 }, () => ({ bytes: 80e6, residentBytes: 40e6 }));
    expect(line("resident", { stages })).toMatch(/^resident ▄{74} 1\.48 GB$/);
  });

  it("holds the disk against what was measured of it", () => {
    expect(line("disk")).toMatch(/^disk {5}█{31}.·+ 2\.41 GB\/s of 2\.73 GB\/s$/);
    expect(line("disk", { source: "page cache" })).toMatch(
      /2\.41 GB\/s through the page cache \(disk: 2\.73 GB\/s\)$/,
    );
    // Then the bar has no limit but what there was: not that, which would be full from the start.
    expect(line("disk", { diskSpeed: undefined })).toMatch(/ 2\.41 GB\/s, at most 2\.50 GB\/s so far$/);
    expect(line("disk", { source: "page cache", diskSpeed: undefined })).toMatch(
      /^disk {5}█{34}.·* 2\.41 GB\/s through the page cache, at most 2\.50 GB\/s$/,
    );
    expect(line("disk", { source: "memory" })).toMatch(/ all weights are in memory$/);
  });

  it("keeps the disk's bar to its limit, though it was faster before, or is now", () => {
    expect(line("disk", { highestRate: 5e9 })).toBe(line("disk"));
    const exceeded = line("disk", { readRate: 3e9, highestRate: 6e9 });
    expect(exceeded).toMatch(/^disk {5}█{36} 3\.00 GB\/s, above the 2\.73 GB\/s that were measured$/);
    expect(line("disk", { readRate: 0, highestRate: 0, diskSpeed: undefined })).toMatch(
      /^disk {5}·{36} 0 B\/s/,
    );
  });

  it("tells waiting, memory, context, tokens and time", () => {
    expect(line("working")).toMatch(/ 35 %, 65 % waiting for weights$/);
    expect(line("memory")).toMatch(/ RSS 171 MB of 223 MB, weights 17\.8 MB, KV 4\.72 MB$/);
    expect(line("context")).toMatch(/ 356 of 65536 tokens$/);
    expect(line("57")).toBe(
      '57 of 256 tokens · 1.21 s/token · at most 4:01 left · 0.82 tokens/s · 1:15 · last " cat"',
    );
    const open = { tokenLimit: Infinity, secondsLeft: undefined };
    expect(line("57", open)).toBe('57 tokens · 1.21 s/token · 0.82 tokens/s · 1:15 · last " cat"');
    const narrow = watchLines(state(), { columns: 40, rows: 10 }, plain);
    expect(narrow).toContain("57 of 256 tokens · 1.21 s/token · 1:15");
    const prompt = { phase: "prompt", promptDone: 128, tokens: 0, secondsLeft: 20 } as const;
    expect(line("prompt", prompt)).toBe("prompt: 128 of 300 tokens · 1:15 · 20 s left");
    expect(draw().at(-1)).toBe("q stops");
  });

  it("shows the end of the text", () => {
    expect(draw()).toContain("Once upon a time there was a cat");
    const text = Array.from({ length: 3000 }, (_, index) => `line ${index}`).join("\n");
    const lines = draw({ text });
    expect(lines.at(-2)).toBe("line 2999");
    expect(lines.at(-4)).toBe("line 2997");
  });
});

it("breaks a long text where it broke before, while more of it comes", () => {
  const size = { columns: 60, rows: 20 };
  const words = Array.from({ length: 4000 }, (_, index) => `word${index}`);
  const textAt = (count: number) =>
    watchLines(state({ text: words.slice(0, count).join(" ") }), size, plain).slice(-6, -2);
  let moved = 0;
  for (let count = 3000; count < 3100; count++) {
    const [before, after] = [textAt(count), textAt(count + 1)];
    if (after[3] !== before[3] && after[2] !== before[2] && after[2] !== before[3]) moved++;
  }
  expect(moved).toBeLessThanOrEqual(2);
});

it("is in ASCII where the terminal has nothing else", () => {
  const look = { ...plain, glyphs: ascii, colours: true };
  const lines = watchLines(STATES["wide"], { columns: 80, rows: 24 }, look);
  // The title comes as the terminal can show it.
  for (const line of lines.slice(1)) expect(stripVTControlCharacters(line)).toMatch(/^[ -~]*$/);
});

it("has one line for where there is no window", () => {
  expect(watchLine(state(), ascii)).toBe(
    "57 of 256 tokens, 1.21 s/token, at most 4:01 left, 0.82 tokens/s, 1:15, 2.41 GB/s from disk, 65 % waiting, RSS 171 MB",
  );
});
