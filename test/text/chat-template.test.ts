import { existsSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { openGguf } from "../../src/gguf/open.ts";
import { buildTokenizerData } from "../../src/text/build-tokenizer-data.ts";
import { createChatTemplate, type RenderOptions } from "../../src/text/chat-template.ts";
import type { ChatMessage } from "../../src/text/types.ts";

const user = (content: unknown): ChatMessage => ({ role: "user", content: content as string });
const system = (content: string): ChatMessage => ({ role: "system", content });
const hello = [user("Hello")];
const LIST = "{% for m in messages %}[{{ m.role }}:{{ m.content }}]{% endfor %}";

function render(source: string, options: Partial<RenderOptions> = {}): string {
  const template = createChatTemplate(source, { strict: true });
  return template.render({ messages: hello, ...options });
}

describe("variables", () => {
  test("the usual ones, and those of the caller on top", () => {
    const source = "{{ bos_token }}{{ messages[0].content }}{{ eos_token }}{{ add_generation_prompt }}";
    expect(render(source, { bosToken: "<s>", eosToken: "</s>" })).toBe("<s>Hello</s>true");
    const variables = { bos_token: "B", extra: 1 };
    expect(render("{{ bos_token }}{{ extra }}{{ messages[0].content }}", { variables })).toBe("B1Hello");
  });

  test("the day is the one that is given, in English", () => {
    const now = new Date(2025, 6, 1, 9, 5);
    const source = '{{ strftime_now("%d %B %Y, %-d %b, %H:%M %p %A %j %%") }}{{ messages[0].content }}';
    expect(render(source, { now })).toBe("01 July 2025, 1 Jul, 09:05 AM Tuesday 182 %Hello");
  });
});

describe("what Python's Jinja does", () => {
  test.each([
    ["{{ 'a\n\n'.rstrip('\n') }}|{{ ' \nx '.lstrip('\n') }}|{{ 'xyx'.strip('x') }}", "a| \nx |y"],
    ["{{ ['a', {'b': true}, none, \"it's\"] | string }}", "['a', {'b': True}, None, \"it's\"]"],
    ["{% for x in nothing %}x{% endfor %}{{ nothing | length }}{{ nothing | trim }}", "0"],
    ["{% for c in 'ab' %}{{ c }},{% endfor %}", "a,b,"],
    ["{{ '{} {1} {{}} {n}'.format('a', 'b', n=1) }}", "a b {} 1"],
    ["{% generation %}a{% endgeneration %}", "a"],
    ["a\n{% if true %}\n  b\n  {% endif %}\nc", "a\n  b\nc"],
    ["{{ 'HeLLo'.capitalize() }}", "Hello"],
  ])("%j", (source, expected) => {
    expect(render(`${source}{{ messages[0].content }}`)).toBe(`${expected}Hello`);
  });
});

describe("messages are put into the shape that a template takes", () => {
  test("a system message that it refuses or leaves out goes into the first question", () => {
    const refuses = `{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}${LIST}`;
    const skips = LIST.replace("messages %}", "messages if m.role != 'system' %}");
    for (const source of [refuses, skips]) {
      expect(render(source, { messages: [system("Be brief."), ...hello] })).toBe("[user:Be brief.\nHello]");
    }
    expect(render(LIST, { messages: [system("S"), ...hello] })).toBe("[system:S][user:Hello]");
  });

  test("text parts become text, and text becomes parts, where need be", () => {
    const parts = [
      { type: "text", text: "a" },
      { type: "text", text: "b" },
    ];
    const onlyParts = "{% for m in messages %}{% for p in m.content %}{{ p.text }};{% endfor %}{% endfor %}";
    expect(render(LIST, { messages: [user(parts)] })).toBe("[user:a\nb]");
    expect(render(onlyParts, { messages: [user(parts)] })).toBe("a;b;");
    expect(render(onlyParts)).toBe("Hello;");
  });
});

describe("a template that does not work", () => {
  const chatMl = "<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n";

  test.each([
    [undefined, /no chat template/],
    ["{% if %}", /does not parse/],
    ["{{ 1 | no_such_filter }}", /fails: .*no_such_filter/],
    ["{{ messages.__class__.__mro__ }}{{ ''.constructor.constructor('return process')() }}", /fails/],
  ])("%s: ChatML, and why", (source, reason) => {
    const template = createChatTemplate(source);
    expect(template.render({ messages: hello })).toBe(chatMl);
    expect(template.fallback).toMatch(reason);
  });

  test("of the user's own choice is an error", () => {
    expect(() => createChatTemplate("{% if %}", { strict: true })).toThrow(/does not parse/);
    expect(() => render("{{ 1 | no_such_filter }}")).toThrow(/fails/);
  });

  test("what it refuses is an error, not a failure", () => {
    const template = createChatTemplate("{{ raise_exception('roles must alternate') }}");
    expect(() => template.render({ messages: hello })).toThrow(
      /refuses these messages: roles must alternate/,
    );
    expect(template.fallback).toBeUndefined();
  });
});

describe("a hostile template is stopped", () => {
  const grow = (step: string) => {
    return `{% set ns = namespace(x=['a'], t='a') %}{% for i in range(99) %}{% set ${step} %}{% endfor %}{{ ns.x }}`;
  };
  test.each([
    "{% for i in range(10**9) %}{% endfor %}",
    "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
    grow("ns.x = [ns.x, ns.x]"),
    grow("ns.x = ns.x + ns.x"),
    grow("ns.t = ns.t + ns.t"),
    "{% set ns = namespace() %}{% set ns.x = ns %}{{ ns }}",
    "{{ 'x' | indent(500000000) }}",
    "{{ [1] | tojson(indent=500000000) }}",
    `{{ ${"(".repeat(50_000)}1${")".repeat(50_000)} }}`,
    `${" ".repeat(100_000)}{{ 1 }}`,
    "x".repeat(2_000_000),
    "{{ {'__proto__': 1}.__proto__.polluted() }}",
  ])("%.60s", (source) => {
    const template = createChatTemplate(source);
    expect(template.render({ messages: hello })).toContain("Hello");
    expect(template.fallback).toMatch(/fails|does not parse/);
    expect(Object.keys(Object.prototype)).toEqual([]);
  });
});

test("the bundled model's template", () => {
  const source = buildTokenizerData(openGguf("models/tiny-chat-q8_0.gguf")).chatTemplates["default"];
  const messages = [system("Answer in one word."), user("Capital?"), { role: "assistant", content: "Rome" }];
  expect(render(source, { messages, addGenerationPrompt: false })).toBe(
    "<|im_start|>system\nAnswer in one word.<|im_end|>\n<|im_start|>user\nCapital?<|im_end|>\n" +
      "<|im_start|>assistant\nRome<|im_end|>\n",
  );
});

const TINY = "../shared/models/tiny-chat-expected.json";
describe.runIf(existsSync(TINY))("the small chat model", () => {
  test("all prompts", () => {
    const expected = JSON.parse(readFileSync(TINY, "utf8"));
    for (const { messages, rendered } of expected.prompts.filter((p: { messages?: unknown }) => p.messages)) {
      expect(render(expected.chat_template, { messages })).toBe(rendered);
    }
  });
});
