import { printableLine } from "../printable.ts";

/** Text that may stand in HTML, between tags and in attributes; control characters are shown, not sent. */
export function escapeHtml(text: string): string {
  return printableLine(text).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** A value for a script, from a `<script type="application/json">` that nothing in it can end. */
export function embeddedJson(id: string, value: unknown): string {
  const json = JSON.stringify(value).replace(/[<>&\u2028\u2029]/g, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
  return `<script type="application/json" id="${id}">${json}</script>`;
}

/** A cell of a heat map: its colour follows `share`, from 0 to 1. */
export function heat(share: number): string {
  return `style="--heat:${Math.round(60 * Math.max(0, Math.min(1, share)))}%"`;
}

/** One page that needs nothing else: no network, no other file. Light or dark as the reader has it. */
export function htmlPage({
  title,
  body,
  style = "",
  script = "",
}: {
  readonly title: string;
  readonly body: string;
  readonly style?: string;
  readonly script?: string;
}): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>${escapeHtml(title)}</title>
<style>${STYLE}${style}</style>
</head>
<body>
<main>
<h1>${escapeHtml(title)}</h1>
${body}
</main>
${script === "" ? "" : `<script>${script}</script>`}
</body>
</html>
`;
}

const STYLE = `
:root { color-scheme: light dark; --ink: #1b1f24; --dim: #59636e; --paper: #fff; --line: #d1d9e0; --hot: #e8850c; --mark: #0b62c4; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8ebee; --dim: #9aa4af; --paper: #14171a; --line: #3a424a; --hot: #d9700a; --mark: #6db3ff; }
}
body { margin: 0; background: var(--paper); color: var(--ink); font: 15px/1.45 system-ui, sans-serif; }
main { max-width: 120rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.3rem; } h2 { font-size: 1.05rem; margin-top: 2rem; }
p { max-width: 70ch; } .dim, caption { color: var(--dim); }
.scroll { overflow-x: auto; max-width: 100%; }
table { border-collapse: separate; border-spacing: 2px; font-size: .85rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; padding: .3rem 0; }
th { text-align: left; font-weight: 600; padding: .15rem .4rem; white-space: pre; }
td { padding: .15rem .4rem; white-space: pre; }
td[style] { background: color-mix(in srgb, var(--hot) var(--heat), var(--paper)); border-radius: 3px; }
tbody th { position: sticky; left: 0; background: var(--paper); }
:focus-visible { outline: 3px solid var(--mark); outline-offset: 1px; }
`;
