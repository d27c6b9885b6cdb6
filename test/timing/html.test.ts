import { describe, expect, it } from "vitest";
import { escapeText, html, scriptJson } from "../../src/timing/html.ts";

describe("html", () => {
  it("escapes what is put in, and leaves markup that is nested", () => {
    const name = `<img src=x onerror="alert('1')"> & more`;
    expect(
      html`<b title="${name}">${html`<i>${name}</i>`}${[html`<u></u>`, 1]}${undefined}${false}</b>`.markup,
    ).toBe(
      '<b title="&lt;img src=x onerror=&quot;alert(&#39;1&#39;)&quot;&gt; &amp; more"><i>&lt;img src=x onerror=&quot;alert(&#39;1&#39;)&quot;&gt; &amp; more</i><u></u>1</b>',
    );
  });

  it("shows control characters and overrides of direction as what they are: not text", () => {
    expect(escapeText("a\u202eb\u0000c\u001b[2J\td\n")).toBe("a\ufffdb\ufffdc\ufffd[2J\td\n");
  });
});

describe("scriptJson", () => {
  it("cannot leave its script element, and reads back", () => {
    const value = { text: "</script><!--<script>\u2028\u2029&amp;]]>" };
    const { markup } = scriptJson(value);
    expect(markup).not.toMatch(/[<>&\u2028\u2029]/);
    expect(JSON.parse(markup)).toEqual(value);
  });
});
