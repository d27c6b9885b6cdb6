import { execFileSync, spawnSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readdirSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { stripVTControlCharacters as plain } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { makeModel, PRESETS } from "../../scripts/synthetic/model.mjs";
import { textWidth } from "../../src/cli/text-width.ts";
import { environment, MAIN, MODEL, sluice } from "./spawn.ts";

const folder = mkdtempSync(join(tmpdir(), "sluice-watch-"));
const env = { SLUICE_CACHE_DIR: join(folder, "cache"), LANG: "C.UTF-8" };
const GREEDY = ["--temp", "0"];
const STORY = ["-p", "Tell me a short story about a cat."];
/** Nonsense that goes on until somebody stops it. */
const nonsense = join(folder, "nonsense.gguf");
const ENDLESS = [nonsense, "-p", "1 2 3 4", "--no-template", ...GREEDY];

beforeAll(async () => {
  makeModel(nonsense, { ...PRESETS["tiny"], context: 200_000 });
  for (const model of [MODEL, nonsense]) {
    const { code, stderr } = await sluice(["unpack", model], { env });
    expect(code, stderr).toBe(0);
  }
});
afterAll(() => rmSync(folder, { recursive: true }));

describe("watch, without a terminal", () => {
  it("gives the answer on stdout, and plain lines on stderr", async () => {
    const { code, stdout, stderr } = await sluice(["watch", MODEL, ...GREEDY, ...STORY, "--draft", "none"], {
      env,
    });
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Once upon a time .* good day\.\n$/);
    expect(stderr).not.toContain("\x1b");
    const lines = stderr.trimEnd().split("\n");
    expect(lines[0]).toMatch(/^Tiny-SmolLM3-Chat · smollm3, 36 layers · f32 · \d+ threads?$/);
    expect(lines.at(-2)).toMatch(/tokens · .*\/token · .* tokens\/s · .* RSS \d+ MB {2}".*good day\."$/);
    expect(lines.at(-1)).toMatch(
      /^\d+ tokens in \d+ s · .*\/token · .* tokens\/s · 7\.6\d MB read for each · \d+ % waiting · peak \d+ MB$/,
    );
  });

  it("gives the same text as run, and takes a prompt from stdin", async () => {
    const argv = [MODEL, "-p", "-", "-n", "20", "-s", "7"];
    const input = "What is the capital of Japan?";
    const [run, watch] = [
      await sluice(["run", ...argv], { env, input }),
      await sluice(["watch", ...argv], { env, input }),
    ];
    expect(watch.stdout).toBe(run.stdout);
    expect(watch.stdout.length).toBeGreaterThan(3);
  });

  it("stops at a text, and slides on where the context is full, as run does", async () => {
    const stopped = await sluice(
      ["watch", MODEL, ...GREEDY, ...STORY, "--stop", " little", "--stop", "cat"],
      { env },
    );
    expect(stopped).toMatchObject({ code: 0, stdout: "Once upon a time there was a\n" });
    const messages = join(folder, "messages.json");
    const turn = [
      { role: "user", content: "Tell me a short story about a cat." },
      { role: "assistant", content: "Once upon a time there was a little cat." },
    ];
    writeFileSync(messages, JSON.stringify([...turn, ...turn, turn[0]]));
    const argv = [MODEL, "--messages", messages, "-c", "90", ...GREEDY, "--overflow", "slide"];
    const [run, watch] = [await sluice(["run", ...argv], { env }), await sluice(["watch", ...argv], { env })];
    expect(watch.code, watch.stderr).toBe(0);
    expect(watch.stdout).toBe(run.stdout);
    const dropped = /^sluice: .*dropped.*$/m;
    expect(watch.stderr.match(dropped)?.[0]).toBe(run.stderr.match(dropped)?.[0]);
    expect(watch.stderr).toMatch(dropped);
  });

  it("is called as it should be", async () => {
    expect(await sluice(["watch", MODEL], { env })).toMatchObject({ code: 2, stdout: "" });
    expect((await sluice(["watch", MODEL, ...STORY, "--json"], { env })).code).toBe(2);
    expect((await sluice(["watch", MODEL, ...STORY, "--overflow", "slide"], { env })).code).toBe(2);
  });
});

const python = spawnSync("python3", ["-c", "import pty, os; os.waitstatus_to_exitcode"]).status === 0;
const ENTER = "\x1b[?1049h\x1b[?25l\x1b[?7l";
const ESC = "\x1b";
const CLEAR = "\x1b[2J";
const [BEGIN, END] = ["\x1b[?2026h", "\x1b[?2026l"];
const LEAVE = "\x1b[?7h\x1b[?25h\x1b[?1049l";

interface Step {
  readonly wait: string;
  readonly send?: string;
  readonly size?: readonly [rows: number, columns: number];
}

describe.runIf(python)("watch, on a terminal", () => {
  function terminal(
    argv: readonly string[],
    {
      steps = [],
      size = [30, 100],
      signal = 0,
      variables = {},
    }: {
      steps?: readonly Step[];
      size?: readonly [number, number];
      signal?: number;
      variables?: Record<string, string>;
    } = {},
  ) {
    const job = {
      argv: [process.execPath, MAIN, "watch", ...argv],
      steps: steps.map(({ send = "", ...step }) => ({ ...step, send })),
      ...{ size, signal, timeout: 40, raw: true },
    };
    const script = fileURLToPath(new URL("./terminal.py", import.meta.url));
    const json = execFileSync("python3", [script, JSON.stringify(job)], {
      env: environment({ ...env, ...variables }),
    });
    const result: { output: string; code: number | null; missed: string[]; cooked: boolean } = JSON.parse(
      json.toString(),
    );
    expect(result.missed, result.output).toEqual([]);
    expect(result.cooked).toBe(true);
    const [before, inside = "", after = ""] = result.output.split(ENTER).flatMap((part) => part.split(LEAVE));
    return { ...result, before, inside, after };
  }

  const unwrapped = (text: string) => text.replace(/\s+/g, " ");

  /** What stood on the window at the end, from all that was drawn on it; anything else than drawing throws. */
  function windowOf(inside: string): string[] {
    let lines: string[] = [];
    for (const part of inside.split(new RegExp(`(?=${ESC}\\[(?:\\d+;1H|2J|\\?2026[hl]))`))) {
      const [, row, text] = new RegExp(`^${ESC}\\[(\\d+);1H${ESC}\\[K([^]*)$`).exec(part) ?? [];
      if (part === CLEAR) lines = [];
      else if (row !== undefined) lines[Number(row) - 1] = text;
      else expect(["", BEGIN, END]).toContain(part);
    }
    return Array.from(lines, (line) => line ?? "");
  }

  it("fills the window while it generates, and leaves the answer behind", () => {
    const { code, before, inside, after } = terminal([MODEL, ...GREEDY, ...STORY]);
    expect(code).toBe(0);
    expect(before).toBe("");
    const lines = windowOf(inside).map(plain);
    expect(lines).toHaveLength(30);
    expect(lines[0]).toMatch(/^Tiny-SmolLM3-Chat · smollm3, 36 layers/);
    expect(lines.find((line) => line.startsWith("compute"))).toMatch(/^compute {2}█{74} done$/);
    expect(lines.join("\n")).toContain("Once upon a time there was a little cat");
    expect(lines[29]).toBe("q stops");
    for (const line of lines) expect(textWidth(line)).toBeLessThanOrEqual(100);
    expect(unwrapped(after)).toMatch(/^Once upon a time .* good day\. \d+ tokens in .* peak \d+ MB $/);
    // Lines end between words.
    for (const line of after.split("\r\n")) expect(textWidth(line)).toBeLessThanOrEqual(100);
  });

  it("follows the size of the window, there and back", () => {
    const steps: Step[] = [
      { wait: "q stops", size: [12, 60] },
      { wait: "\x1b[12;1H", size: [5, 20] },
      { wait: CLEAR, size: [40, 140] },
      { wait: "\x1b[40;1H", send: "q" },
    ];
    const { code, inside } = terminal(ENDLESS, { steps });
    expect(code).toBe(0);
    const sizes = [100, 60, 20, 140];
    const windows = inside.split(CLEAR).slice(-4);
    for (const [index, drawn] of windows.entries())
      for (const line of windowOf(drawn)) expect(textWidth(plain(line))).toBeLessThanOrEqual(sizes[index]);
    expect(windowOf(inside)).toHaveLength(40);
  });

  it.each([
    ["q", 0],
    ["\x03", 130],
  ])("stops at %j with %i, and keeps what there is", (key, exit) => {
    const { code, after } = terminal(ENDLESS, { steps: [{ wait: "tokens/s", send: key }] });
    expect(code).toBe(exit);
    expect(unwrapped(after)).toMatch(/ stopped after \d+ tokens in .* $/);
  });

  it("leaves the terminal as it was at SIGTERM", () => {
    const steps = [{ wait: "tokens/s" }];
    const { code, after } = terminal(ENDLESS, { steps, signal: constants.signals.SIGTERM });
    expect(code).toBe(128 + constants.signals.SIGTERM);
    expect(after).toContain("stopped after");
  });

  it.each(["SIGHUP", "SIGQUIT"] as const)("goes at %s, and leaves the terminal as it was", (name) => {
    const steps = [{ wait: "tokens/s" }];
    const { code, output } = terminal(ENDLESS, { steps, signal: constants.signals[name] });
    expect(code).toBe(-constants.signals[name]);
    expect(output).toContain(LEAVE);
  });

  it("tells of a failure of a thread on the screen that stays", () => {
    const root = join(folder, "broken");
    const argv = ["unpack", MODEL, "--dtype", "f32", "--compress", "lz4"];
    expect(spawnSync(process.execPath, [MAIN, ...argv, "--cache-dir", root]).status).toBe(0);
    const [name] = readdirSync(root).filter((entry) => entry.startsWith("tiny"));
    const layer = openSync(join(root, name, "layer-20.bin"), "r+");
    writeSync(layer, Buffer.alloc(2000, 255), 0, 2000, 0);
    closeSync(layer);
    const { code, after, output } = terminal([join(root, name), ...STORY]);
    expect(code, output).toBe(1);
    expect(unwrapped(after)).toMatch(/^sluice: .* Run `npx sluice unpack --force` on .* $/);
  });

  it.each<[string, Parameters<typeof terminal>[1]]>([
    ["with TERM=dumb", { variables: { TERM: "dumb" } }],
    ["with CI", { variables: { CI: "1" } }],
    ["in a window that is too small", { size: [9, 100] }],
    ["in a window that is too narrow", { size: [30, 39] }],
  ])("degrades to plain lines %s", (_, options) => {
    const { code, output } = terminal([MODEL, ...GREEDY, ...STORY, "-n", "9"], options);
    expect(code).toBe(0);
    expect(output).not.toContain("\x1b");
    expect(output).toMatch(/^Tiny-SmolLM3-Chat.*\r\n/);
    expect(unwrapped(output)).toMatch(/ Once upon a time there was a little cat 9 tokens in .* $/);
  });

  it("has no colours with NO_COLOR, and only ASCII where the locale is not UTF-8", () => {
    const { inside } = terminal([MODEL, ...GREEDY, ...STORY, "-n", "9"], {
      variables: { NO_COLOR: "1", LC_ALL: "C" },
    });
    const lines = windowOf(inside);
    for (const line of lines) expect(line).toMatch(/^[ -~]*$/);
    expect(lines.find((line) => line.startsWith("compute"))).toMatch(/^compute {2}#{74} done$/);
  });
});
