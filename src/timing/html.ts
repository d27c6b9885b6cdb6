/** HTML out of text that nobody has checked: whatever a model is called, it stays text. */

/** Markup that is safe as it is. */
export class Html {
  readonly markup: string;

  constructor(markup: string) {
    this.markup = markup;
  }
}

type Part = Html | string | number | undefined | false | readonly Part[];

/** A template literal whose strings are escaped; nested markup and lists of it are put in as they are. */
export function html(fixed: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(String.raw({ raw: fixed }, ...parts.map(markupOf)));
}

function markupOf(part: Part): string {
  if (part instanceof Html) return part.markup;
  if (part === undefined || part === false) return "";
  if (typeof part === "object") return part.map(markupOf).join("");
  return escapeText(`${part}`);
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/**
 * Text for elements and for attributes in quotes. Control characters and the overrides of writing direction, which
 * make text look like other text, become U+FFFD.
 */
export function escapeText(text: string): string {
  return text
    .replace(/(?![\n\t])[\p{Cc}\p{Cs}\u202a-\u202e\u2066-\u2069]/gu, "\ufffd")
    .replace(/[&<>"']/g, (character) => ENTITIES[character]);
}

/**
 * JSON for the inside of a script element: it cannot end the element, nor open a comment in it, and reads back as it
 * was. U+2028 and U+2029 end a line in older scripts; overrides of writing direction mislead who reads the file.
 */
export function scriptJson(value: unknown): Html {
  const json = JSON.stringify(value);
  return new Html(
    json.replace(
      /[<>&\u2028\u2029\u202a-\u202e\u2066-\u2069]/g,
      (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
    ),
  );
}
