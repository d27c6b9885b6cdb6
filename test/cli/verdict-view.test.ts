import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, it, vi } from "vitest";
import { noteMemory } from "../../src/cli/verdict-view.ts";
import type { Model } from "../../src/engine/model.ts";
import type { SweepTiming } from "../../src/timing/types.ts";
import { MODEL, sluice } from "./spawn.ts";

describe("run --verbose", () => {
  const root = mkdtempSync(join(tmpdir(), "sluice-verdict-"));
  afterAll(() => rmSync(root, { recursive: true }));
  const verbose = async (...argv: string[]) => {
    const fixed = ["run", MODEL, "-p", "Hello!", "-n", "4", "--temp", "0", "--verbose", "--cache-dir", root];
    return (await sluice([...fixed, ...argv])).stderr.trimEnd().split("\n").slice(-4);
  };

  it("ends with what limited the speed, and measures nothing for a small model", async () => {
    // Threads take far longer to start than a small model's prompt to compute.
    const handover = expect.stringMatching(/ went into hand-over: starting the compute threads, /);
    const longest = expect.stringMatching(/^The largest part of the work was computing the prompt: /);
    const bound = /^(the arithmetic|reading through the system's page cache) sets the speed of generation: /;
    expect(await verbose()).toEqual(["", longest, expect.stringMatching(bound), handover]);
    expect(await verbose("--ram", "auto")).toEqual([
      "",
      longest,
      expect.stringMatching(/, for all weights are in memory: [\d.]+ [MG]B\/s of weights consumed$/),
      handover,
    ]);
    expect(readdirSync(root)).toHaveLength(1);
  });
});

describe("a word about free memory", () => {
  const { isTTY } = process.stderr;
  afterEach(() => {
    vi.restoreAllMocks();
    process.stderr.isTTY = isTTY;
  });

  const none = { bytes: 0, readMs: 0, waitMs: 0, computeMs: 0 };
  const sweep = (waitMs: number, computeMs: number): SweepTiming => {
    const layer = { bytes: 3e8, readMs: waitMs, waitMs, computeMs };
    return {
      startMs: 0,
      handoverMs: 0,
      rows: 1,
      ms: waitMs + computeMs,
      embedding: none,
      layers: [layer],
      output: none,
    };
  };
  const said = (terminal: boolean, memory: object, decode: readonly SweepTiming[]) => {
    process.stderr.isTTY = terminal;
    const write = vi.spyOn(process.stderr, "write").mockReturnValue(true);
    const model = { memory: () => ({ residentBytes: 0, streamedBytes: 3e8, ...memory }) } as unknown as Model;
    const whether = noteMemory(model, decode);
    expect(write).toHaveBeenCalledTimes(whether ? 1 : 0);
    return whether ? write.mock.calls[0][0] : undefined;
  };
  const starved = [sweep(90, 10), sweep(70, 30)];

  it("is said on a terminal where it would gain much", () => {
    expect(said(true, {}, starved)).toBe(
      "sluice: --ram auto would keep 300 MB of weights in free memory, and be up to 5.0 times as fast\n",
    );
  });

  it("is not said elsewhere", () => {
    expect(said(false, {}, starved)).toBeUndefined();
    expect(said(true, {}, [sweep(20, 80)])).toBeUndefined();
    expect(said(true, {}, [])).toBeUndefined();
    expect(said(true, { residentBytes: 1e8 }, starved)).toBeUndefined();
    expect(said(true, { streamedBytes: 1e6 }, starved)).toBeUndefined();
  });
});
