import { describe, expect, test } from "vitest";
import { createChatTemplate } from "../../src/text/chat-template.ts";

const render = (source: string) => {
  const template = createChatTemplate(source);
  const text = template.render({ messages: [{ role: "user", content: "Hi" }] });
  return template.fallback ?? text;
};

const doubled = (times: number) =>
  `{% set ns = namespace(s="ab") %}{% for i in range(${times}) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}{% set s = ns.s %}`;
const often = (body: string) => `{% for i in range(100000) %}${body}{% endfor %}`;

describe("a template that would take minutes or all memory is stopped soon", () => {
  test.each([
    ["replace", doubled(20) + often('{% set x = s.replace("a", "b") %}')],
    ["replace as a filter", doubled(20) + often('{% set x = s | replace("a", "b") %}')],
    ["replace that doubles", doubled(12) + often('{% set ns.s = ns.s.replace("a", ns.s) %}')],
    ["join", doubled(10) + often("{% set x = range(100000) | join(s) %}")],
    ["join by name", doubled(10) + often("{% set x = range(100000) | join(separator=s) %}")],
    ["split", doubled(20) + often('{% set x = s.split("a") %}')],
    ["strip", doubled(20) + often('{% set x = s.strip("ab") %}')],
    ["format", doubled(20) + often(`{% set x = "${"{0}".repeat(100)}".format(s) %}`)],
    ["a slice", doubled(20) + often("{% set x = s[::-1] %}")],
    ["a loop over a text", `${doubled(20)}{% for c in s %}{% endfor %}`],
    ["sort", often("{% set x = range(100000) | sort %}")],
    ["unique", often("{% set x = range(100000) | unique %}")],
    ["indent", doubled(18) + often('{% set x = s.replace("a", "\\n") | indent(1000) %}')],
    ["lists that grow", `{% set r = range(100000) %}${often("{% set x = r + r %}")}`],
  ])("%s", (_, source) => {
    const before = process.cpuUsage();
    expect(render(source)).toMatch(
      /^the chat template fails: (it does not come to an end|its text grows too long|its lists grow too large|it indents too many lines)$/,
    );
    // A second or so where nothing else runs; without the budget it is minutes.
    expect(process.cpuUsage(before).user / 1e6).toBeLessThan(5);
  });
});

test("replace, split and join do as in Python", () => {
  const cases: readonly (readonly [string, string])[] = [
    ['"abcabc".replace("b", "$&x")', "a$&xca$&xc"],
    ['"abcabc" | replace("b", "-")', "a-ca-c"],
    ['"abcabc".replace("b", "-", 1)', "a-cabc"],
    ['"aaa".replace("a", "", count=2)', "a"],
    ['"a😀c".replace("", "-")', "-a-😀-c-"],
    ['"".replace("", "x")', "x"],
    ['"a,b,,c".split(",") | join("|")', "a|b||c"],
    ['"a,b,c".split(",", 1) | join("|")', "a|b,c"],
    ['" a  b c ".split() | join("|")', "a|b|c"],
    ['" a  b c ".split(none, 1) | join("|")', "a|b c "],
    ['[1, ["x", "y"] | join("+"), "z"] | join(["-", "-"] | join(""))', "1--x+y--z"],
  ];
  for (const [expression, want] of cases) expect(render(`{{ ${expression} }}`), expression).toBe(want);
});

describe("an error names the line, in words", () => {
  test.each([
    [
      "a\n{% for m in messages %}\n{{ m.content }}\n{% endfr %}\n",
      /: line 4: Unknown statement type: endfr$/,
    ],
    ["a\n{{ x }}\n{% set x = 1 ~ %}\n{{ y }}", /: line 3: Unexpected token: CloseStatement$/],
    ["a\n{% if x %} b", /: it ends within a block: /],
    ["a\nb\n{% if x \n\n", /: line 3: /],
    [`{{ ${"(".repeat(50_000)}1${")".repeat(50_000)} }}`, /: it nests too deeply$/],
    ["{{ range(10, 99999999999) }}", /range\(.*\) is too long$/],
  ])("%#", (source, message) => {
    expect(render(source)).toMatch(message);
  });
});
