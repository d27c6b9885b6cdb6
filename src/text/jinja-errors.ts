/** What goes wrong with templates, in plain words. */
import { compileTemplate } from "./jinja.ts";

/** The message of an error; what JavaScript says about its own limits is put into words about the template. */
export function plainMessage(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (!(error instanceof RangeError)) return error.message;
  if (/call stack/.test(error.message)) return "it nests too deeply";
  return /string length|array length|allocation/i.test(error.message)
    ? "its text grows too long"
    : "a number in it is out of range";
}

/** Why a template does not parse, and where. */
export function parseProblem(source: string, error: Error): string {
  // The parser looks for what comes next, and nothing does.
  if (error instanceof TypeError)
    return "it ends within a block: {% endif %}, {% endfor %} or the like is missing";
  return lineOfError(source, error) + plainMessage(error);
}

/**
 * Where a template stops making sense, as "line 7: "; empty where that cannot be told. The parser keeps no positions:
 * looked for is the shortest beginning, up to the end of a tag, that fails for the same reason.
 */
function lineOfError(source: string, error: Error): string {
  if (error instanceof RangeError) return "";
  const lineAt = (place: number) => `line ${source.slice(0, place).split("\n").length}: `;
  const last = (...tags: string[]) => Math.max(...tags.map((tag) => source.lastIndexOf(tag)));
  const opened = last("{%", "{{");
  if (opened > last("%}", "}}")) return lineAt(opened);
  const ends = [...source.matchAll(/[%}]\}/g)].map(({ index }) => index + 2);
  const fails = (end: number) => messageOf(source.slice(0, end)) === error.message;
  // What comes later makes no difference to what was read before.
  let [from, to] = [0, ends.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (fails(ends[middle])) to = middle;
    else from = middle + 1;
  }
  const found = ends[from];
  if (found === undefined || /end of input|missing/i.test(error.message)) return "";
  return lineAt(found);
}

function messageOf(source: string): string | undefined {
  try {
    compileTemplate(source);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}
