import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { MODEL, sluice } from "./spawn.ts";
import { HAS_TERMINAL, onTerminal, type Step, type TerminalOptions } from "./terminal.ts";

const folder = mkdtempSync(join(tmpdir(), "sluice-chat-"));
const env = { SLUICE_CACHE_DIR: folder, XDG_STATE_HOME: join(folder, "state"), NO_COLOR: "1" };
const STORY = "Tell me a short story about a cat.";

beforeAll(async () => {
  const { code, stderr } = await sluice(["run", MODEL, "-p", "Hello!", "-n", "1"], { env });
  expect(code, stderr).toBe(0);
}, 60_000);
afterAll(() => rmSync(folder, { recursive: true }));

describe("chat, piped", () => {
  const chat = (lines: readonly string[], argv: readonly string[] = []) =>
    sluice(["chat", "--temp", "0", ...argv], { env, input: lines.map((line) => `${line}\n`).join("") });

  it("answers each line on a line of its own, and remembers", async () => {
    const { code, stdout, stderr } = await chat(["My name is Ada.", "", "What is my name?"]);
    expect(stdout).toBe("Nice to meet you, Ada!\nYour name is Ada.\n");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  });

  it("obeys its commands", async () => {
    const lines = [
      "/system You are a pirate.",
      "/system",
      "What colour is grass?",
      "/reset",
      "/frob",
      "/stats",
      "/help",
      "/exit",
      "Hi",
    ];
    const { code, stdout, stderr } = await chat(lines);
    // One of them is none.
    expect({ code, stdout }).toEqual({ code: 1, stdout: "Arr! Grass is green.\n" });
    expect(stderr).toContain("The system message is: You are a pirate.");
    expect(stderr).toContain("There is no /frob");
    expect(stderr).toMatch(/context: 0 of 1024 tokens/);
    expect(stderr).toContain("set the system message");
  });

  it("takes messages of several lines", async () => {
    const { stdout } = await chat([
      '"""What is the capital',
      'of Japan?"""',
      '"""',
      "What is 7 plus 5?",
      '"""',
    ]);
    expect(stdout.split("\n").at(-2)).toBe("7 plus 5 is 12.");
  });

  it("computes only what is new", async () => {
    const { stderr } = await chat(["My name is Ada.", "What is my name?", "/stats"]);
    const reused = Number(/(\d+) tokens reused/.exec(stderr)?.[1]);
    const prefill = Number(/^prefill +(\d+)/m.exec(stderr)?.[1]);
    expect(reused).toBeGreaterThan(15);
    expect(prefill).toBeLessThan(20);
  });

  it("takes no answer of no tokens, as /set predict takes none", async () => {
    const { code, stderr } = await chat([], ["-n", "0"]);
    expect(code).toBe(2);
    expect(stderr).toContain("argument '0' is invalid. It must be a whole number from 1 up, or -1.");
  });

  it("goes on after a message that does not fit the context", async () => {
    const { code, stdout, stderr } = await chat(["a ".repeat(500), "What is 7 plus 5?"], ["-c", "64"]);
    // Who pipes messages in wants to know that one of them was not answered.
    expect({ code, stdout }).toEqual({ code: 1, stdout: "7 plus 5 is 12.\n" });
    expect(stderr).toMatch(/the prompt has \d+ tokens, and the context holds 64/);
  });

  it("says when the context is full and goes on after /reset", async () => {
    const lines = [STORY, "What is 7 plus 5?", "/reset", "What is 7 plus 5?"];
    const { code, stdout, stderr } = await chat(lines, ["-c", "40"]);
    expect(code).toBe(1);
    expect(stderr).toContain("the context of 40 tokens is full: /reset starts over");
    expect(stdout).toMatch(/^Once upon a time.*\n7 plus 5 is 12\.\n$/);
  });

  it("ends with 130 at Ctrl-C", async () => {
    const { code, stderr } = await sluice(["chat"], {
      env,
      input: `${STORY}\n${STORY}\n`,
      onStdout: (_, child) => child.kill("SIGINT"),
    });
    expect(code, stderr).toBe(130);
  });
});

describe.runIf(HAS_TERMINAL)("chat, on a terminal", () => {
  const terminal = (
    argv: readonly string[],
    steps: readonly Step[],
    { variables = {}, ...options }: TerminalOptions = {},
  ) => onTerminal(argv, steps, { ...options, variables: { ...env, ...variables } });
  const CTRL_C = "\x03";
  const CTRL_D = "\x04";

  it("greets, answers, and leaves with 0 at Ctrl-D", () => {
    const { output, code } = terminal(
      ["chat", "--temp", "0"],
      [
        ["> ", "What is 7 plus 5?\r"],
        ["7 plus 5 is 12.", ""],
        ["> ", CTRL_D],
      ],
    );
    expect(code).toBe(0);
    expect(output).toMatch(/36 layers · f32 · context of 1024 tokens\r\n/);
    expect(output).toContain("/help");
  });

  it("stops an answer at Ctrl-C, stays, and leaves with 130 at the next", () => {
    const { output, code } = terminal(
      ["chat", "--temp", "0"],
      [
        ["> ", `${STORY}\r`],
        ["Once", CTRL_C],
        ["(stopped", ""],
        ["> ", CTRL_C],
      ],
    );
    expect(code, output).toBe(130);
  });

  it("asks before it leaves from an empty prompt, and clears a line first", () => {
    const { output, code } = terminal(
      ["chat"],
      [
        ["> ", "half a li"],
        ["half a li", CTRL_C],
        ["> ", CTRL_C],
        ["Press Ctrl-C again to leave.", CTRL_C],
      ],
    );
    expect(code, output).toBe(130);
  });

  it("keeps what is typed while an answer streams out of it", () => {
    const { text, code } = terminal(
      ["chat", "--temp", "0"],
      [
        ["> ", `${STORY}\r`],
        ["Once", "What is 7 plus 5?\r"],
        ["7 plus 5 is 12.", ""],
        ["> ", CTRL_D],
      ],
    );
    expect(code).toBe(0);
    const story = text.slice(text.indexOf("Once"), text.indexOf("good day."));
    expect(story).not.toContain("plus");
    expect(text).toContain("> What is 7 plus 5?");
  });

  it.each([
    ["at the prompt", []],
    ["while it answers", [["> ", `${STORY}\r`] as const]],
  ])("goes when the terminal is closed %s, and removes a temporary cache", (_, steps) => {
    const temporary = mkdtempSync(join(folder, "tmp-"));
    const last = [steps.length === 0 ? "> " : "Once", ""] as const;
    const { code } = terminal(["chat", "--temp-cache"], [...steps, last], {
      hangup: true,
      variables: { TMPDIR: temporary },
    });
    expect(code).toBe(-constants.signals.SIGHUP);
    expect(readdirSync(temporary)).toEqual([]);
  });

  it.each(["SIGHUP", "SIGQUIT", "SIGTERM"] as const)("leaves the terminal as it was at %s", (name) => {
    const { output, code, cooked } = terminal(["chat"], [["> ", ""]], { signal: constants.signals[name] });
    expect(cooked).toBe(true);
    // The terminal marks pastes no longer.
    expect(output.lastIndexOf("\x1b[?2004l")).toBeGreaterThan(output.lastIndexOf("\x1b[?2004h"));
    expect(code).toBe(name === "SIGTERM" ? 128 + constants.signals.SIGTERM : -constants.signals[name]);
  });

  it("shows what a template puts into its text or its refusal, and is not driven by it", () => {
    const messages = join(folder, "messages.json");
    writeFileSync(messages, '[{"role": "user", "content": "\\u001b[2Jtext"}]');
    const rendered = terminal(["render", MODEL, "--messages", messages], []);
    expect(rendered.output).toContain("\\u{1b}[2Jtext");
    expect(rendered.output).not.toContain("\x1b");
    const template = join(folder, "refuses.jinja");
    writeFileSync(template, "{{ raise_exception('\x1b]0;title\x07no\nsluice: all is well') }}");
    const argv = ["run", MODEL, "-p", "Hi", "--chat-template-file", template];
    const refused = terminal(argv, []);
    expect(refused.code).toBe(1);
    expect(refused.output).toContain("\\u{1b}]0;title\\u{7}no\\nsluice: all is well");
    const shown = terminal(
      ["run", MODEL, "-p", "\x1b]0;title\x07", "--no-template", "-n", "1", "--show-template"],
      [],
    );
    expect(shown.output).not.toContain("\x1b]");
    const usage = terminal(["run", MODEL, "-p", "Hi", "--seed", "\x1b]0;title\x07"], []);
    expect(usage.output).toContain("\\u{1b}]0;title");
    expect(usage.output).not.toContain("\x1b");
  });

  it("ends the line of an answer of run", () => {
    const { text, code } = terminal(["run", MODEL, "--temp", "0", "-p", "What is 7 plus 5?"], []);
    expect(code).toBe(0);
    expect(text).toMatch(/7 plus 5 is 12\.\r\n$/);
  });
});
