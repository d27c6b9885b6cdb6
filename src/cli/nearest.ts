/** What somebody meant who mistyped a name. */

/**
 * The name that is nearest to a mistyped one: the one that it begins, or one that a few slips of the keys away.
 * Undefined where none is near.
 */
export function nearest(typed: string, names: readonly string[]): string | undefined {
  const begun = names.filter((name) => name.startsWith(typed) && typed !== "");
  if (begun.length === 1) return begun[0];
  const allowed = Math.max(1, Math.floor(typed.length * 0.4));
  const [best] = names
    .map((name) => ({ name, slips: slipsBetween(typed, name) }))
    .filter(({ slips }) => slips <= allowed)
    .sort((a, b) => a.slips - b.slips);
  return best?.name;
}

/** Letters to add, take away, change or swap with the next one (optimal string alignment distance). */
function slipsBetween(a: string, b: string): number {
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = last[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1);
      row[j] = Math.min(last[j] + 1, row[j - 1] + 1, change);
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (swapped) row[j] = Math.min(row[j], before[j - 2] + 1);
    }
    before = last;
    last = row;
  }
  return last[b.length];
}
