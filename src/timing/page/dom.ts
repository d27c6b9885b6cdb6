/** Elements, without ever making markup out of text. */

type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;

export function el<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes))
    if (value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : `${value}`);
  element.append(...children);
  return element;
}

/** One of a few, as a row of radio buttons. */
export function choice(
  label: string,
  options: readonly { readonly value: string; readonly text: string }[],
  chosen: string,
  changed: (value: string) => void,
): HTMLElement {
  const name = `choice-${document.querySelectorAll("fieldset").length}-${label}`;
  return el(
    "fieldset",
    { class: "choice" },
    el("legend", {}, label),
    ...options.map(({ value, text }) => {
      const input = el("input", { type: "radio", name, value, checked: value === chosen });
      input.addEventListener("change", () => changed(value));
      return el("label", {}, input, el("span", {}, text));
    }),
  );
}

/** One of many, as a list that opens. */
export function select(
  label: string,
  options: readonly { readonly value: string; readonly text: string }[],
  chosen: string,
  changed: (value: string) => void,
): HTMLElement {
  const list = el(
    "select",
    {},
    ...options.map(({ value, text }) => el("option", { value, selected: value === chosen }, text)),
  );
  list.addEventListener("change", () => changed(list.value));
  return el("label", { class: "choice" }, el("span", {}, label), list);
}
