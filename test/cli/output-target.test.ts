import { spawnSync } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { SessionWriter } from "../../src/session-store/session-writer.ts";
import { conversation } from "../session-store/conversation.mjs";
import { fullRecording } from "../timing/a-recording.ts";
import { environment, MAIN, MODEL, sluice } from "./spawn.ts";

const folder = mkdtempSync(join(tmpdir(), "sluice-targets-"));
afterAll(() => rmSync(folder, { recursive: true }));
const at = (name: string) => join(folder, name);
const env = { SLUICE_CACHE_DIR: at("cache"), XDG_STATE_HOME: at("state") };
const recording = JSON.stringify(fullRecording());
let layer = "";

beforeAll(async () => {
  copyFileSync(MODEL, at("model.gguf"));
  linkSync(at("model.gguf"), at("model.json"));
  writeFileSync(at("a.json"), recording);
  linkSync(at("a.json"), at("hard.html"));
  symlinkSync("a.json", at("soft.html"));
  writeFileSync(at("messages.json"), '[{"role": "user", "content": "Hi"}]');
  writeFileSync(at("template.json"), "{{ messages[0].content }}");
  const sessions = join(at("state"), "sluice", "sessions");
  mkdirSync(sessions, { recursive: true });
  await new SessionWriter(join(sessions, "talk.session")).save(conversation(1).content, []);
  linkSync(join(sessions, "talk.session"), at("talk.md"));
  const { stdout } = await sluice(["unpack", at("model.gguf"), "--dtype", "q8", "--json"], { env });
  layer = join(JSON.parse(stdout).folder, "layer-00.bin");
});

test.each<[string, () => readonly string[], RegExp]>([
  ["a recording", () => ["report", at("a.json"), "-o", at("a.json")], /this command reads it\n/],
  ["by a hard link", () => ["report", at("a.json"), "-o", at("hard.html")], /reads it as \S+a\.json\n/],
  ["by a symbolic link", () => ["report", "--text", at("soft.html"), "-o", at("a.json")], /reads it as/],
  ["the second", () => ["report", at("a.json"), at("a.json"), "-o", at("hard.html")], /reads it as/],
  ["a model", () => ["logits", at("model.gguf"), "--ids", "1", "--out", at("model.gguf")], /reads it/],
  ["any model", () => ["logits", layer, "--ids", "1", "--out", at("model.gguf")], /it is a model file/],
  ["timings", () => ["unpack", at("model.gguf"), "--timings", at("model.json")], /reads it as/],
  [
    "timings over messages",
    () => ["run", at("model.gguf"), "--messages", at("messages.json"), "--timings", at("messages.json")],
    /this command reads it/,
  ],
  [
    "timings over a template",
    () => {
      const template = ["--chat-template-file", at("template.json")];
      return ["run", at("model.gguf"), "-p", "Hi", ...template, "--timings", at("template.json")];
    },
    /this command reads it/,
  ],
  ["a session", () => ["sessions", "export", "talk", "-o", at("talk.md")], /reads it as \S+talk\.session/],
  ["a layer", () => ["embed", at("model.gguf"), "a", "b", "--html", layer], /a file of an unpacked model/],
  ["a layer of its input", () => ["lens", join(layer, ".."), "-p", "a", "--html", layer], /reads it as/],
])("%s is not written over", async (_, argv, message) => {
  const { code, stdout, stderr } = await sluice(argv(), { env });
  expect(stderr).toMatch(/^sluice: \S+ is not written: /);
  expect(stderr).toMatch(message);
  expect(stderr).toMatch(/\n {2}Give another file with --(out|html|timings)\.\n$/);
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(readFileSync(at("a.json"), "utf8")).toBe(recording);
  expect(readFileSync(at("model.gguf")).equals(readFileSync(MODEL))).toBe(true);
  expect(readFileSync(at("talk.md"), "latin1")).toMatch(/^sluice chat\n/);
  expect(readdirSync(folder).filter((name) => name.endsWith(".partial"))).toEqual([]);
});

test("nor is what comes on stdin", () => {
  const stdin = openSync(at("a.json"), "r");
  const argv = [MAIN, "report", "-", "-o", at("soft.html")];
  const { status, stderr } = spawnSync(process.execPath, argv, {
    stdio: [stdin, "pipe", "pipe"],
    env: environment(env),
    encoding: "utf8",
  });
  expect(stderr).toMatch(/this command reads it as stdin/);
  expect(status).toBe(1);
  expect(readFileSync(at("a.json"), "utf8")).toBe(recording);
});

test("another file is, though it is there already", async () => {
  writeFileSync(at("page.html"), "old");
  expect(await sluice(["report", at("a.json"), "-o", at("page.html")], { env })).toMatchObject({ code: 0 });
  expect(readFileSync(at("page.html"), "utf8")).toMatch(/^<!doctype html>/i);
});

test("no new file goes into the folder of an unpacked model, which is deleted as a whole", async () => {
  const path = join(dirname(layer), "new.html");
  const result = await sluice(["report", at("a.json"), "-o", path], { env });
  expect(result).toMatchObject({ code: 1 });
  expect(result.stderr).toMatch(/is not written: its folder is that of an unpacked model/);
  expect(existsSync(path)).toBe(false);
});
