/** Sessions on a terminal, as a person has them. */
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readHistory } from "../../src/cli/line-editor/history-file.ts";
import { textWidth } from "../../src/cli/text-width.ts";
import { MODEL, sluice } from "./spawn.ts";
import { HAS_TERMINAL, onTerminal, type Step } from "./terminal.ts";

const folder = mkdtempSync(join(tmpdir(), "sluice-session-"));
const state = join(folder, "state");
const env = { SLUICE_CACHE_DIR: join(folder, "cache"), XDG_STATE_HOME: state, NO_COLOR: "1" };
const history = join(state, "sluice", "chat-history");
const STORY = "Tell me a short story about a cat.";
const CTRL_C = "\x03";
const CTRL_D = "\x04";

beforeAll(async () => {
  const { code, stderr } = await sluice(["run", MODEL, "-p", "Hello!", "-n", "1"], { env });
  expect(code, stderr).toBe(0);
}, 60_000);
afterAll(() => rmSync(folder, { recursive: true }));

const chat = (steps: readonly Step[], { argv = [] as string[], variables = {} } = {}) =>
  onTerminal(["chat", "--temp", "0", ...argv], steps, { variables: { ...env, ...variables } });

describe.runIf(HAS_TERMINAL)("a session", () => {
  it("stops an answer, goes on, answers anew, takes back, and takes pasted lines and any writing", () => {
    const { output, text, code, cooked } = chat([
      ["> ", `${STORY}\r`],
      ["Once", CTRL_C],
      ["(stopped", ""],
      ["> ", "What is 7 plus 5?\r"],
      ["7 plus 5 is 12.", ""],
      ["> ", "/regen\r"],
      ["Again: What is 7 plus 5? (temp is 0: the answer will be the same)", ""],
      ["7 plus 5 is 12.", ""],
      ["> ", "/undo\r"],
      ["Taken back: What is 7 plus 5? (1 turn is left)", ""],
      ["> ", "\x1b[200~What is the capital\rof Japan?\x1b[201~"],
      [". of Japan?", "\r"],
      ["Tokyo", ""],
      ["> ", "日本 👩‍👩‍👧 🇯🇵 e\u0301x"],
      ["e\u0301x", "\x7f\x7f\x1b[D\x1b[D\x7f!"],
      ["> 日本 👩‍👩‍👧!🇯🇵 ", "\r"],
      ["> ", "/tokens\r"],
      ["of 1024 in the KV cache", ""],
      ["> ", CTRL_D],
    ]);
    expect(code, output).toBe(0);
    expect(cooked).toBe(true);
    // What was said before it was stopped is part of the conversation; what was pasted is one message.
    const counted = text.slice(text.indexOf("/tokens"));
    expect(counted).toMatch(/\d+ \+ \d+ {2}Tell me a short story/);
    expect(counted).toContain("What is the capital\\nof Japan?");
    expect(counted).not.toContain("7 plus 5");
    // The cursor stands behind its column: two for each wide character.
    expect(output).toContain("> 日本 👩‍👩‍👧!🇯🇵 \r\x1b[10C");
    // The terminal marks pastes while it is asked to, and not longer.
    expect(output.lastIndexOf("\x1b[?2004l")).toBeGreaterThan(output.lastIndexOf("\x1b[?2004h"));
    expect(statSync(history).mode & 0o777).toBe(0o600);
    expect(readHistory(history)).toEqual([
      STORY,
      "What is 7 plus 5?",
      "/regen",
      "/undo",
      "What is the capital\nof Japan?",
      "日本 👩‍👩‍👧!🇯🇵 ",
      "/tokens",
    ]);
  });

  it("knows what was typed in the chat before, and edits the last question", () => {
    const entries = [STORY, "What is 7 plus 4?"].map((text) => `${JSON.stringify(text)}\n`);
    writeFileSync(history, entries.join(""));
    const { output, text, code } = chat([
      ["> ", "\x1b[A"],
      ["> What is 7 plus 4?", "\r"],
      ["11.", ""],
      ["> ", "/edit\r"],
      ["> What is 7 plus 4?", "\x7f\x7f5?\r"],
      ["7 plus 5 is 12.", ""],
      ["> ", "\x12cat"],
      [STORY, CTRL_C],
      ["> ", "/he\t"],
      ["> /help ", "\r"],
      ["/regen", ""],
      ["> ", "/tokens\r"],
      ["free", CTRL_D],
    ]);
    expect(code, output).toBe(0);
    expect(text.slice(text.lastIndexOf("/tokens"))).not.toContain("7 plus 4");
  });

  it("edits in the user's editor", () => {
    const editor = join(folder, "editor.sh");
    writeFileSync(editor, '#!/bin/sh\nsed -i "s/plus 4/plus 5/" "$1"\n', { mode: 0o700 });
    const { output, code } = chat(
      [
        ["> ", "What is 7 plus 4?\r"],
        ["11.", ""],
        ["> ", "/edit\r"],
        ["> What is 7 plus 5?", ""],
        ["7 plus 5 is 12.", ""],
        ["> ", CTRL_D],
      ],
      { variables: { EDITOR: editor } },
    );
    expect(code, output).toBe(0);
  });

  it("gives up a message of several lines, and says how to go on with what is saved", () => {
    const steps: Step[] = [
      ["> ", '"""\r'],
      [". ", "one\r"],
      [". ", `two${CTRL_C}`],
      [". ", CTRL_C],
      ["> ", CTRL_C],
      ["Press Ctrl-C again to leave.", "x"],
      ["> x", CTRL_C],
      ["> ", CTRL_C],
      ["Press Ctrl-C again to leave.", '\r"""\r'],
      [". ", CTRL_C],
      ["> ", "/list\r"],
      ["Nothing is saved yet.", ""],
      // Typed while the answer comes: it ends the chat after it.
      ["> ", `What is 7 plus 5?\r${CTRL_D}not sent\r`],
      ["7 plus 5 is 12.", ""],
    ];
    const { output, text, code } = chat(steps, { variables: { XDG_STATE_HOME: join(folder, "given-up") } });
    expect(code, output).toBe(0);
    expect(text).not.toContain("not sent");
    expect(text).toMatch(/Saved as (auto-[\w-]+)\. To go on:\r\n {2}npx sluice chat --resume \1\r\n$/);
  });

  it("wraps words, at the new width where the window becomes narrower in mid-answer", () => {
    const { text } = chat([
      ["> ", `${STORY}\r`],
      ["Once", "", 30],
      ["> ", CTRL_D],
    ]);
    const answer = text.slice(text.indexOf("Once"), text.lastIndexOf("> "));
    const lines = answer.trimEnd().split("\r\n");
    expect(lines.length).toBeGreaterThan(4);
    // A word that was moved to the next line is still in what was printed, so there may be a few columns more.
    for (const line of lines.slice(-3)) expect(textWidth(line), JSON.stringify(lines)).toBeLessThan(36);
  });

  it("has a plain prompt where the cursor cannot be moved", () => {
    const { output, code } = chat(
      [
        ["> ", "What is 7 plus 5?\r"],
        ["7 plus 5 is 12.", ""],
        ["> ", CTRL_D],
      ],
      { variables: { TERM: "dumb" } },
    );
    expect(code, output).toBe(0);
    expect(output).not.toContain("\x1b");
  });

  it("tells prompt and answer apart in colour", () => {
    const { output, text } = chat(
      [
        ["> ", "What is 7 plus 5?\r"],
        ["7 plus 5 is 12.", ""],
        ["> ", CTRL_D],
      ],
      { variables: { NO_COLOR: "" } },
    );
    expect(output).toContain("\x1b[1;36m> \x1b[22;39mWhat is 7 plus 5?");
    expect(text).toContain("\n7 plus 5 is 12.");
  });
});

it("obeys its commands where lines are piped in, and keeps no history of them", async () => {
  rmSync(history, { force: true });
  const lines = [
    "What is 7 plus 4?",
    "/edit What is 7 plus 5?",
    "/set tmp 1",
    "/set temp 0.0",
    "/set",
    "/think hide",
    "/think onn",
    "/regne",
    "/tokens Hi",
    "/model",
    "/undo",
    "/undo",
    "/regen",
    "/reset now",
    "/",
  ];
  const { code, stdout, stderr } = await sluice(["chat", "--temp", "0"], {
    env,
    input: lines.map((line) => `${line}\n`).join(""),
  });
  expect(stdout).toBe("7 plus 4 is 11.\n7 plus 5 is 12.\n");
  // Somebody who pipes commands in wants to know that one of them was none.
  expect(code).toBe(1);
  for (const told of [
    "there is no setting tmp\n  Did you mean temp?",
    "temp is 0 now.",
    "repeat-last-n   64",
    "its thoughts are hidden",
    "/think takes on, off or hide, not onn\n  Did you mean on?",
    "There is no /regne. Did you mean /regen?",
    /\d tokens?: \d+ "/,
    "36 layers)",
    "Taken back: What is 7 plus 5? (0 turns are left)",
    "There is nothing to take back.",
    "There is no question yet.",
    "/reset takes nothing behind it, not now\n  Put a space before it",
    "A slash begins a command",
  ])
    expect(stderr).toMatch(told);
  expect(readHistory(history)).toEqual([]);
});

it("fails where a command in a pipe is none", async () => {
  const { code, stderr } = await sluice(["chat"], { env, input: "/regne\n" });
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: "There is no /regne. Did you mean /regen? /help lists the commands.\n",
  });
});

it("slides where it is told to, and says so", async () => {
  const question = "What is the capital of Japan?\n";
  const { code, stdout, stderr } = await sluice(["chat", "--temp", "0", "-c", "80", "--overflow", "slide"], {
    env,
    input: `${question.repeat(6)}/undo\n`.concat("/undo\n".repeat(5), "/regen\n"),
  });
  expect(stderr).toMatch(/\(0 turns are left: the \d turns before were dropped from the context\)/);
  expect(stderr).toMatch(
    /There is nothing to take back: the \d turns before were dropped from the context\./,
  );
  expect(stderr).toMatch(/There is no question: the \d turns/);
  expect({ code, stdout }).toEqual({ code: 0, stdout: "The capital of Japan is Tokyo.\n".repeat(6) });
  expect(stderr).toMatch(
    /\(the context of 80 tokens is full: the oldest (turn is|\d turns are) dropped, from "What is the capital of Japan\?" on; \d+ tokens are read again\)/,
  );
});

it("switches thinking in the template, and hides thoughts that it opens", async () => {
  const template = join(folder, "thinks.jinja");
  writeFileSync(
    template,
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}" +
      "<|im_start|>assistant\n{% if enable_thinking %}<think>\n{% endif %}",
  );
  const question = "What is 7 plus 5?";
  const lines = [question, "/reset", "/think hide", question, "/reset", "/think off", question, "/model"];
  const { stdout, stderr } = await sluice(["chat", "--temp", "0", "--chat-template-file", template], {
    env,
    input: lines.map((line) => `${line}\n`).join(""),
  });
  expect(stdout).toBe("7 plus 5 is 12.\n7 plus 5 is 12.\n");
  expect(stderr).toContain("it ended in its thoughts, which are hidden");
  expect(stderr).toContain("from a file, thinking is switched by enable_thinking");
});
