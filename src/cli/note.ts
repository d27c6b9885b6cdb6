/** Print a remark of sluice's own on stderr, apart from the model's text on stdout. */
export function note(text: string): void {
  process.stderr.write(`${text}\n`);
}
