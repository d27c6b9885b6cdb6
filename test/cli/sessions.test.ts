import { spawnSync } from "node:child_process";
import {
  appendFileSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { environment, MAIN, MODEL, sluice } from "./spawn.ts";
import { HAS_TERMINAL, onTerminal, type Step } from "./terminal.ts";

const folder = mkdtempSync(join(tmpdir(), "sluice-sessions-"));
let homes = 0;
let env: Record<string, string> = {};
let sessions = "";

beforeAll(async () => {
  env = { SLUICE_CACHE_DIR: join(folder, "cache") };
  const { code, stderr } = await sluice(["unpack", MODEL], { env });
  expect(code, stderr).toBe(0);
});
beforeEach(() => {
  const state = join(folder, `state-${homes++}`);
  sessions = join(state, "sluice", "sessions");
  env = { ...env, XDG_STATE_HOME: state };
});
afterAll(() => rmSync(folder, { recursive: true }));

const chat = (lines: readonly string[], ...argv: string[]) =>
  sluice(["chat", "--temp", "0", ...argv], { env, input: lines.map((line) => `${line}\n`).join("") });
const command = (...argv: string[]) => sluice(["sessions", ...argv], { env });
const prefilled = (stderr: string) => Number(/^prefill +(\d+)/m.exec(stderr)?.[1]);
const reused = (stderr: string) => Number(/(\d+) tokens reused/.exec(stderr)?.[1]);

describe("a saved chat", () => {
  it.each(["f32", "f16"])("goes on as if it had never ended, without prefill (--kv %s)", async (kv) => {
    const first = ["My name is Ada.", "What is 7 plus 5?"];
    const whole = await chat([...first, "What is my name?", "/stats"], "--kv", kv);
    const saved = await chat([...first, "/save ada"], "--kv", kv);
    expect(saved.stderr).toBe("Saved as ada, and again after every answer.\n");
    // The type of the KV cache is the saved one's, unless it is asked for.
    const resumed = await chat(["What is my name?", "/stats"], "--resume", "ada");
    expect(saved.stdout + resumed.stdout).toBe(whole.stdout);
    expect(resumed.stderr).toContain("Nothing of it has to be computed again");
    expect(prefilled(resumed.stderr)).toBe(prefilled(whole.stderr));
    expect(reused(resumed.stderr)).toBe(reused(whole.stderr));
    expect(prefilled(resumed.stderr)).toBeLessThan(20);
  });

  it("is answered the same where it has to be computed again, which is said", async () => {
    await chat(["My name is Ada.", "/save ada"]);
    const again = await chat(["What is my name?", "/stats"], "--resume", "ada", "--kv", "f16");
    expect(again.stdout).toBe("Your name is Ada.\n");
    expect(again.stderr).toContain(
      "Its KV cache is computed again with the next question, for the saved one is f32, this one f16.",
    );
    expect(reused(again.stderr)).toBe(0);
    // It was saved as f16 now.
    expect((await chat(["What is my name?"], "--resume", "ada", "--kv", "f16")).stderr).toContain(
      "Nothing of it",
    );
  });

  it("goes on with other weights, from its text", async () => {
    await chat(["My name is Ada.", "/save ada"]);
    const again = await chat(["What is my name?"], MODEL, "--resume", "ada", "--dtype", "q8");
    expect(again.stdout).toBe("Your name is Ada.\n");
    expect(again.stderr).toContain(
      "the conversation was held with weights in f32, these are q8 (--dtype f32 takes it up as it was)",
    );
  });

  it("is saved again after every answer, and the last one is resumed without a name", async () => {
    await chat(["My name is Bob.", "/save bob"]);
    await chat(["My name is Ada.", "/save ada", "What is 7 plus 5?"]);
    const { stdout, stderr } = await chat(["What is my name?", "/save"], "--resume");
    expect(stdout).toBe("Your name is Ada.\n");
    expect(stderr).toMatch(/^ada: 4 messages, last saved \d{4}-\d\d-\d\d/);
    expect(stderr).toContain("This conversation is saved as ada after every answer.");
    const { messages } = JSON.parse((await command("export", "ada", "--format", "json")).stdout);
    expect(messages).toHaveLength(6);
    expect(statSync(join(sessions, "ada.session")).mode & 0o777).toBe(0o600);
  });

  it("is loaded, listed, and kept apart from what follows /reset", async () => {
    await chat(["My name is Ada.", "/save Ada 猫"]);
    const lines = [
      "/load Ada",
      "What is my name?",
      "/list",
      "/reset",
      "What is 7 plus 5?",
      "/save",
      "/load x",
    ];
    const { stdout, stderr, code } = await chat(lines);
    expect(stdout).toBe("Your name is Ada.\n7 plus 5 is 12.\n");
    expect(stderr).toMatch(/^Ada 猫 {2}\d{4}.* 4 .* My name is Ada\.$/m);
    expect(stderr).toContain("This conversation is not saved yet");
    expect(stderr).toContain("no conversation is called x");
    expect(code).toBe(1);
    expect(JSON.parse((await command("ls", "--json")).stdout)).toMatchObject([
      { name: "Ada 猫", messages: 4 },
    ]);
  });

  it("takes no name that is another's, or none", async () => {
    await chat(["My name is Ada.", "/save ada"]);
    const { stderr } = await chat([
      "/save new",
      "What is 7 plus 5?",
      "/save ada",
      "/save ../up",
      "/save auto-1",
    ]);
    expect(stderr).toContain("there is nothing to save yet");
    expect(stderr).toContain("there is a conversation ada already");
    expect(stderr).toContain('"../up" cannot be the name of a session: it holds "/"');
    expect(stderr).toContain("are given by sluice");
    expect(readdirSync(sessions)).toEqual(["ada.session"]);
  });

  it("begins anew where there is nothing to resume; a name that is none is an error", async () => {
    const none = await chat(["What is 7 plus 5?"], "--resume");
    expect(none).toMatchObject({ code: 0, stdout: "7 plus 5 is 12.\n" });
    expect(none.stderr).toContain("there is no saved conversation to resume");
    await chat(["My name is Ada.", "/save ada"]);
    const other = join(folder, "other.gguf");
    copyFileSync(MODEL, other);
    // Another file of the same size counts as another model.
    appendFileSync(other, "\0");
    const foreign = await chat([], other, "--resume");
    expect(foreign.stderr).toContain(
      "no saved conversation with this model to resume: a new one begins\n  `npx sluice sessions ls` lists those with other models.",
    );
    const unknown = await chat(["Hi"], "--resume", "nobody");
    expect(unknown).toMatchObject({ code: 1, stdout: "" });
    expect(unknown.stderr).toContain("no conversation is called nobody");
  });

  it("is replayed where its KV cache is damaged, and refused where its text is", async () => {
    await chat(["My name is Ada.", "/save ada"]);
    const path = join(sessions, "ada.session");
    const bytes = readFileSync(path);
    bytes[60] ^= 1;
    writeFileSync(path, bytes);
    const replayed = await chat(["What is my name?"], "--resume", "ada");
    expect(replayed.stdout).toBe("Your name is Ada.\n");
    expect(replayed.stderr).toMatch(/computed again .*ada\.session is damaged: block 0 of its KV cache/);
    expect((await chat(["What is my name?"], "--resume", "ada")).stderr).toContain("Nothing of it");
    writeFileSync(path, "no session");
    for (const outcome of [await chat(["Hi"], "--resume", "ada"), await command("export", "ada")]) {
      expect(outcome).toMatchObject({ code: 1, stdout: "" });
      expect(outcome.stderr).toContain(`${path} is damaged`);
    }
    expect((await command("ls")).stdout).toContain("cannot be read");
  });

  it("goes on unsaved where nothing can be written", async () => {
    mkdirSync(join(sessions, ".."), { recursive: true });
    writeFileSync(sessions, "a file in the way");
    const { code, stdout, stderr } = await chat(["What is 7 plus 5?", "/save sums", "What is 7 plus 5?"]);
    expect(stdout).toBe("7 plus 5 is 12.\n7 plus 5 is 12.\n");
    expect(stderr).toContain(`cannot save the conversation in ${sessions}`);
    expect(code).toBe(1);
  });
});

describe.runIf(HAS_TERMINAL)("on a terminal", () => {
  const terminal = (argv: readonly string[], steps: readonly Step[], signal = 0) =>
    onTerminal(argv, steps, { signal, variables: env }).text;

  it("every chat is saved, killed or not, and shows where it stood when it is resumed", async () => {
    const SIGKILL = 9;
    terminal(
      ["chat", "--temp", "0"],
      [
        ["> ", "My name is Ada.\r"],
        ["meet you, Ada!", ""],
        ["> ", ""],
      ],
      SIGKILL,
    );
    const [file] = readdirSync(sessions);
    expect(file).toMatch(/^auto-\d{8}-\d{6}-[0-9a-f]{4}\.session$/);
    const output = terminal(
      ["chat", "--temp", "0", "--resume"],
      [
        ["meet you, Ada!", ""],
        ["> ", "What is my name?\r"],
        ["name is Ada.", ""],
        ["> ", "/save ada\r"],
        ["Saved as ada", "\x04"],
      ],
    );
    expect(output).toContain("Nothing of it has to be computed again");
    expect(readdirSync(sessions)).toEqual(["ada.session"]);
  });

  it("what is taken back or answered anew is saved so", async () => {
    await chat(["My name is Ada.", "What is 7 plus 5?", "/save ada", "/undo", "/set temp 0.5"]);
    const { messages, settings } = JSON.parse((await command("export", "ada", "--format", "json")).stdout);
    expect(messages).toHaveLength(2);
    expect(settings.sampling.temperature).toBe(0.5);
    const { stderr } = await sluice(["chat", "--resume"], { env, input: "/set\n/undo\n/save\n" });
    expect(stderr).toContain("There is nothing to save yet; what is said next is saved as ada.");
    expect(stderr).toMatch(/^temp +0\.5 /m);
    // Nothing is left to be saved; what is said next is saved under the name again.
    expect(readdirSync(sessions)).toEqual([]);
    await chat(["My name is Ada.", "/save ada", "/undo", "What is 7 plus 5?"]);
    expect((await command("ls")).stdout).toMatch(/^ada .* 2 .* What is 7 plus 5\?$/m);
  });

  it("sessions rm asks", async () => {
    await chat(["My name is Ada.", "/save ada"]);
    terminal(["sessions", "rm", "ada"], [["[y/N]", "n\r"]]);
    expect(readdirSync(sessions)).toEqual(["ada.session"]);
    expect(terminal(["sessions", "rm", "ada"], [["[y/N]", "y\r"]])).toContain("Deleted ada");
    expect(readdirSync(sessions)).toEqual([]);
  });
});

describe.runIf(process.platform === "linux")("a disk without room", () => {
  /** A chat whose files may have so many kilobytes. */
  const limited = (kilobytes: number, lines: readonly string[]) =>
    spawnSync(
      "bash",
      [
        "-c",
        `trap '' XFSZ; ulimit -f ${kilobytes}; exec "$0" "$@"`,
        process.execPath,
        MAIN,
        "chat",
        "--temp",
        "0",
      ],
      { env: environment(env), input: lines.map((line) => `${line}\n`).join(""), encoding: "utf8" },
    );

  it("for the KV cache takes the text, which is told once, and when leaving", async () => {
    const { stdout, stderr } = limited(8, ["My name is Ada.", "/save ada", "What is 7 plus 5?", "Hello!"]);
    expect(stdout).toContain("12");
    expect(stderr.match(/Its text is saved without the KV cache/g)).toHaveLength(1);
    expect(stderr).toMatch(
      /^sluice: cannot save the conversation in \S+ada\.session: the file would be larger/,
    );
    expect(stderr).toMatch(
      /\nsluice: this conversation is saved without its KV cache, .*: the file would be larger than allowed\n$/,
    );
    const { messages } = JSON.parse((await command("export", "ada", "--format", "json")).stdout);
    expect(messages).toHaveLength(6);
    const resumed = await chat(["What is my name?"], "--resume", "ada");
    expect(resumed.stdout).toBe("Your name is Ada.\n");
    expect(resumed.stderr).toContain("it was given up to save room");
    expect((await chat([], "--resume", "ada")).stderr).toContain("Nothing of it has to be computed again");
  });

  it.runIf(HAS_TERMINAL)("for anything has the text kept elsewhere, and says so when leaving", async () => {
    mkdirSync(dirname(sessions), { recursive: true });
    writeFileSync(sessions, "in the way");
    const temporary = mkdtempSync(join(folder, "tmp-"));
    const steps: Step[] = [
      ["> ", "My name is Ada.\r"],
      ["tried again", ""],
      ["> ", "What is 7 plus 5?\r"],
      ["12", ""],
      ["> ", "\x04"],
    ];
    const variables = { ...env, TMPDIR: temporary };
    const { output } = onTerminal(["chat", "--temp", "0"], steps, { variables });
    expect(output.match(/is tried again after the next answer/g)).toHaveLength(1);
    const path = /this conversation is not saved: [^;]+; its text is in (\S+\.session): move that/.exec(
      output,
    )?.[1];
    expect(path).toMatch(temporary);
    rmSync(sessions);
    mkdirSync(sessions);
    renameSync(path!, join(sessions, "ada.session"));
    expect((await chat(["What is my name?"], "--resume", "ada")).stdout).toBe("Your name is Ada.\n");
  });
});

describe("sluice sessions", () => {
  it("exports Markdown and JSON, to stdout or a file", async () => {
    await chat(["My name is Ada.", "/save ada"], "--system", "You are a pirate.");
    const { stdout } = await command("export", "ada");
    expect(stdout).toMatch(/^# ada\n\nModel: Tiny-SmolLM3-Chat \(tiny-chat-q8_0\.gguf, f32\)/);
    expect(stdout).toContain("\n\n## System\n\nYou are a pirate.\n\n## You\n\nMy name is Ada.\n\n## Tiny-");
    const out = join(folder, "ada.json");
    expect(await command("export", "ad", "-o", out)).toMatchObject({ code: 0, stdout: "" });
    const exported = JSON.parse(readFileSync(out, "utf8"));
    expect(exported).toMatchObject({ name: "ada", model: { dtype: "f32", kv: "f32" } });
    // The messages are what `run` takes.
    const messages = join(folder, "messages.json");
    writeFileSync(messages, JSON.stringify([...exported.messages, { role: "user", content: "Who am I?" }]));
    const run = await sluice(["run", MODEL, "--messages", messages, "-n", "2"], { env });
    expect(run.code, run.stderr).toBe(0);
  });

  it("deletes only what it is told to", async () => {
    await chat(["My name is Ada.", "/save ada", "/save bob", "/save bobby"]);
    expect(readdirSync(sessions).sort()).toEqual(["ada.session", "bob.session", "bobby.session"]);
    expect((await command("rm")).code).toBe(2);
    expect((await command("rm", "ada")).code).toBe(2);
    expect((await command("rm", "bo", "-y")).stderr).toMatch(/bo could be (bob or bobby|bobby or bob)/);
    expect((await command("rm", "a", "bob", "-y")).stdout).toBe("Deleted ada\nDeleted bob\n");
    expect((await command("rm", "--all", "-y")).stdout).toBe("Deleted bobby\n");
    expect(await command("ls")).toMatchObject({ code: 0, stdout: "", stderr: "" });
    expect((await command("path")).stdout).toBe(`${sessions}\n`);
  });
});
