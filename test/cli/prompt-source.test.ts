import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Command } from "commander";
import { afterAll, expect, it } from "vitest";
import { promptSource, readPrompt } from "../../src/cli/prompt-source.ts";

const folder = mkdtempSync(join(tmpdir(), "sluice-prompt-"));
afterAll(() => rmSync(folder, { recursive: true }));

const command = new Command().exitOverride().configureOutput({ writeErr: () => {} });

it.each([
  [{ prompt: "Hi" }, { kind: "text", text: "Hi" }],
  [{ prompt: "" }, { kind: "text", text: "" }],
  [{ prompt: "-" }, { kind: "file", path: "-" }],
  [{ file: "a.txt" }, { kind: "file", path: "a.txt" }],
  [{ messages: "a.json" }, { kind: "messages", path: "a.json" }],
])("%j", (flags, source) => {
  expect(promptSource({ template: true, ...flags }, command)).toEqual(source);
});

it("reads stdin where no prompt is given and stdin is no terminal", () => {
  expect(promptSource({ template: true }, command, {})).toEqual({ kind: "file", path: "-" });
});

it.each([
  [{}, /no prompt/],
  [{ prompt: "a", system: "b", systemFile: "c" }, /more than one system message/],
  [{ prompt: "-", systemFile: "-" }, /stdin cannot be both/],
  [{ prompt: "a", file: "b" }, /more than one prompt/],
  [{ prompt: "a", messages: "b" }, /more than one prompt/],
  [{ messages: "a", template: false }, /--messages needs the chat template/],
  [{ prompt: "a", system: "b", template: false }, /--system needs the chat template/],
  [{ messages: "a", system: "b" }, /put the system message there/],
])("%j is a usage error", (flags, message) => {
  expect(() => promptSource({ template: true, ...flags }, command, { isTTY: true })).toThrow(message);
});

it("makes messages of a text, unless the model is to continue it", async () => {
  const source = { kind: "text", text: "Hi\n" } as const;
  expect(await readPrompt(source, { template: false }, command)).toBe("Hi\n");
  expect(await readPrompt(source, { template: true }, command)).toEqual([{ role: "user", content: "Hi\n" }]);
  expect(await readPrompt(source, { template: true, system: "Be brief." }, command)).toEqual([
    { role: "system", content: "Be brief." },
    { role: "user", content: "Hi\n" },
  ]);
});

it("takes an empty text only where the model is to continue it", async () => {
  const source = { kind: "text", text: "" } as const;
  expect(await readPrompt(source, { template: false }, command)).toBe("");
  await expect(readPrompt(source, { template: true }, command)).rejects.toThrow("the prompt is empty");
});

it.each([
  ["line\n", "line"],
  ["line\r\n", "line"],
  ["two\nlines\n\n", "two\nlines\n"],
  ["none", "none"],
])("leaves out one newline at the end of a file: %j", async (content, text) => {
  const path = join(folder, "prompt.txt");
  writeFileSync(path, content);
  expect(await readPrompt({ kind: "file", path }, { template: false }, command)).toBe(text);
});

it("says which file cannot be read", async () => {
  const path = join(folder, "missing.txt");
  await expect(readPrompt({ kind: "file", path }, { template: true }, command)).rejects.toMatchObject({
    code: "io",
    message: expect.stringContaining(path),
  });
});

it("takes the system message from a file, without the newline at its end", async () => {
  const systemFile = join(folder, "system.txt");
  writeFileSync(systemFile, "Be brief.\n");
  const source = { kind: "text", text: "Hi" } as const;
  expect(await readPrompt(source, { template: true, systemFile }, command)).toEqual([
    { role: "system", content: "Be brief." },
    { role: "user", content: "Hi" },
  ]);
});
