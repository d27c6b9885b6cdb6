/** The numbers behind a chart, as a table that is made when it is opened. */
import { el } from "./dom.ts";

/** Text, or a number: shown rounded, with the whole of it beneath. */
export type Cell = string | number | undefined;

export interface Column {
  readonly name: string;
  /** Places behind the point. */
  readonly places?: number;
}

export interface DataTable {
  readonly caption: string;
  readonly columns: readonly Column[];
  readonly rows: () => readonly (readonly Cell[])[];
}

export function dataTable({ caption, columns, rows }: DataTable): HTMLElement {
  const details = el("details", { class: "numbers" }, el("summary", {}, `Table: ${caption}`));
  details.addEventListener("toggle", () => {
    if (!details.open || details.querySelector("table")) return;
    const head = el("tr", {}, ...columns.map(({ name }) => el("th", { scope: "col" }, name)));
    const body = rows().map((row) =>
      el("tr", {}, ...row.map((cell, index) => cellOf(cell, columns[index], index))),
    );
    const table = el(
      "table",
      {},
      el("caption", { class: "unseen" }, caption),
      el("thead", {}, head),
      el("tbody", {}, ...body),
    );
    details.append(el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption }, table));
  });
  return details;
}

function cellOf(cell: Cell, { places = 2 }: Column, index: number): HTMLElement {
  const content =
    typeof cell === "number" ? el("data", { value: cell }, cell.toFixed(places)) : el("bdi", {}, cell ?? "–");
  return index === 0 ? el("th", { scope: "row" }, content) : el("td", {}, content);
}
