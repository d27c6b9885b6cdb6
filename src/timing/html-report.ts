import type { Recording } from "./recording.ts";

/** One self-contained page about one recording, or about several side by side. */
export function htmlReport(recordings: readonly Recording[]): string {
  const names = recordings.map(({ command, began }) => `<li>${escaped(command)}, ${escaped(began)}</li>`);
  return `<!doctype html><meta charset="utf-8"><title>sluice</title><ul>${names.join("")}</ul>\n`;
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
