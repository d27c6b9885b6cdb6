import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { MODEL, sluice } from "./spawn.ts";

const folder = mkdtempSync(join(tmpdir(), "sluice-render-"));
afterAll(() => rmSync(folder, { recursive: true }));

function file(name: string, content: unknown): string {
  const path = join(folder, name);
  writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
  return path;
}

const MESSAGES = file("messages.json", [{ role: "user", content: "What is the capital of Japan?" }]);
const TEXT = "<|im_start|>user\nWhat is the capital of Japan?<|im_end|>\n";
const DAY = file(
  "day.jinja",
  "{{ strftime_now('%d %b %Y') }}{{ thinking }}{{ messages[0].content }}{{ add_generation_prompt }}",
);

describe("sluice render", () => {
  test("prints exactly what the model reads", async () => {
    const { stdout, stderr, code } = await sluice(["render", MODEL, "--messages", MESSAGES]);
    expect({ code, stderr, stdout }).toEqual({
      code: 0,
      stderr: "",
      stdout: `${TEXT}<|im_start|>assistant\n`,
    });
    const bare = await sluice(["render", "-m", MODEL, "--messages", MESSAGES, "--no-generation-prompt"]);
    expect(bare.stdout).toBe(TEXT);
  });

  test("ids as JSON, messages from stdin", async () => {
    const input = JSON.stringify([{ role: "user", content: "What is the capital of Japan?" }]);
    const { stdout } = await sluice(["render", MODEL, "--messages", "-", "--json"], { input });
    expect((await sluice(["render", MODEL, "--json"], { input })).stdout).toBe(stdout);
    const nothing = await sluice(["render", MODEL], { input: "" });
    expect(nothing).toMatchObject({ code: 2, stdout: "" });
    expect(nothing.stderr).toMatch(/no messages: give --messages FILE, or a JSON list of them on stdin/);
    expect(JSON.parse(stdout)).toEqual({
      text: `${TEXT}<|im_start|>assistant\n`,
      ids: [1022, 266, 10, 287, 267, 279, 313, 283, 979, 63, 1023, 10, 1022, 265, 10],
    });
  });

  test("another template, its variables and its day", async () => {
    const argv = [
      "render",
      MODEL,
      "--messages",
      MESSAGES,
      "--chat-template-file",
      DAY,
      "--date",
      "2025-07-10",
    ];
    const { stdout } = await sluice([...argv, "--chat-template-kwargs", '{"thinking": "!"}']);
    expect(stdout).toBe("10 Jul 2025!What is the capital of Japan?true");
    const over = await sluice([...argv, "--chat-template-kwargs", '{"add_generation_prompt": false}']);
    expect(over.stdout).toBe("10 Jul 2025What is the capital of Japan?false");
  });

  test("what is wrong is said, with nothing on stdout", async () => {
    const run = async (...more: string[]) => {
      const { code, stdout, stderr } = await sluice(["render", MODEL, ...more]);
      expect(stdout).toBe("");
      return `${code} ${stderr}`;
    };
    const given = (...more: string[]) => run("--messages", MESSAGES, ...more);
    expect(await run()).toMatch(/^2 .*--messages/);
    expect(await run("--messages", file("a.json", [{ role: "user" }]))).toMatch(
      /^1 .*message 1 of 1 has no content/,
    );
    expect(await run("--messages", file("b.json", "[")).then((text) => text)).toMatch(/^1 .*is not JSON/);
    expect(await given("--date", "2025-02-30")).toMatch(/^2 .*a day like/);
    expect(await given("--chat-template-kwargs", "[]")).toMatch(/^2 .*JSON object/);
    expect(await given("--chat-template-file", file("bad.jinja", "{% if %}"))).toMatch(/^1 .*does not parse/);
    expect(await given("--chat-template-file", join(folder, "none"))).toMatch(/^1 .*cannot read/);
    const refusing = file("no.jinja", "{{ raise_exception('roles must alternate') }}");
    expect(await given("--chat-template-file", refusing)).toMatch(/^1 .*roles must alternate/);
  });
});
