import { existsSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { createChatTemplate } from "../../src/text/chat-template.ts";
import type { ChatMessage } from "../../src/text/types.ts";

const VECTORS = "../shared/vectors";
const read = (path: string): string => readFileSync(`${VECTORS}/${path}`, "utf8");

interface Case {
  readonly name: string;
  readonly template: string;
  readonly variables: Readonly<Record<string, unknown>>;
  /** Absent where the reference gives an error. */
  readonly expected?: string;
}

/** Names of the cases that do not come out as the reference has them, in order. */
function mismatches(cases: readonly Case[]): string[] {
  return cases
    .filter(({ template: source, variables, expected }) => {
      const template = createChatTemplate(source);
      const { messages, ...rest } = variables;
      try {
        const text = template.render({
          messages: messages as ChatMessage[],
          variables: { add_generation_prompt: undefined, ...rest },
          now: new Date(2025, 6, 10, 12),
        });
        return template.fallback === undefined ? text !== expected : expected !== undefined;
      } catch {
        return expected !== undefined;
      }
    })
    .map(({ name }) => name);
}

function jinja2Cases(): Case[] {
  return JSON.parse(read("renderings/renderings-jinja2.json")).cases.map((one: Record<string, unknown>) => ({
    name: `${one["template"]} ${one["conversation"]}`,
    template: read(`templates/${one["template"]}`),
    variables: { bos_token: one["bos_token"], eos_token: one["eos_token"], ...(one["vars"] as object) },
    expected: one["expected"],
  }));
}

describe.runIf(existsSync(VECTORS))("renderings", () => {
  test("of Python's Jinja", () => {
    const cases = jinja2Cases();
    expect(cases).toHaveLength(364);
    const names = mismatches(cases);
    // An empty conversation never gets here: it is refused when messages are read.
    const nobody = names.filter((name) => name.endsWith(" no_messages"));
    // A list of text parts, where the template prints the list, nothing, or fails: here its text.
    const parts = names.filter((name) => name.endsWith(" list_content"));
    const others = names.filter((name) => !nobody.includes(name) && !parts.includes(name));
    expect(nobody.length).toBeLessThanOrEqual(15);
    expect(parts.length).toBeLessThanOrEqual(20);
    expect(others).toEqual([
      // It refuses system messages, which become part of the question here.
      "google-gemma-2-2b-it.jinja sys_no_think",
      "google-gemma-2-2b-it.jinja sys_no_think_text",
      "google-gemma-2-2b-it.jinja sys_override_no_think",
      "google-gemma-2-2b-it.jinja enable_false_sys_think",
      "google-gemma-2-2b-it.jinja xml_tools_nothink",
      // Python fails on a lazy list that is no list yet.
      "llama-cpp-deepseek-r1.jinja assistant_tool_calls_field",
    ]);
  });

  test("of llama.cpp", () => {
    const lines = read("renderings/llamacpp-test-chat-template.jsonl").trim().split("\n");
    const cases = lines.map((line): Case => {
      const { name, template, expected_jinja, ...variables } = JSON.parse(line);
      return { name, template, variables, expected: expected_jinja };
    });
    expect(cases).toHaveLength(36);
    // Looks something up by a number in a dict; llama.cpp's own tests leave it out as well.
    expect(mismatches(cases)).toEqual(["ai-sage/GigaChat-20B-A3B-instruct"]);
  });

  test("of huggingface.js", () => {
    const { TEST_DEFAULT_TEMPLATES, TEST_CUSTOM_TEMPLATES } = JSON.parse(
      read("renderings/hfjs-jinja-e2e.json"),
    );
    const cases = Object.entries({ ...TEST_DEFAULT_TEMPLATES, ...TEST_CUSTOM_TEMPLATES }).map(
      ([name, one]): Case => {
        const { chat_template, data, target } = one as Record<string, never>;
        return { name, template: chat_template, variables: data, expected: target };
      },
    );
    expect(cases).toHaveLength(53);
    expect(mismatches(cases)).toEqual([
      // Drops the system message without a word; here it becomes part of the question.
      "mistralai/Mistral-7B-Instruct-v0.3 (JSON Schema)",
      // Prints a list of tools, which is Python's text for lists here and JSON there.
      "MadeAgents/Hammer2.1",
    ]);
  });

  test("every published template takes a conversation, but for two", () => {
    const { cases } = JSON.parse(read("renderings/renderings-jinja2.json"));
    const names = new Set<string>(cases.map((one: { template: string }) => one.template));
    for (const name of ["ByteDance-Seed-OSS.jinja", "fireworks-ai-llama-3-firefunction-v2.jinja", ...names]) {
      const template = createChatTemplate(read(`templates/${name}`));
      template.render({ messages: [{ role: "user", content: "Hello" }] });
      // A dict with numbers for keys; variables (functions, datetime) that nobody else has.
      const known = name.startsWith("ByteDance") || name.startsWith("fireworks");
      expect(template.fallback === undefined, name).toBe(!known);
    }
  });
});
