import { graphemes } from "../text-width.ts";

/** Text that is being typed, of one line or several, and the place in it where typing goes on. */
export class EditBuffer {
  #before: string[] = [];
  #after: string[] = [];
  #killed = "";

  get text(): string {
    return this.before + this.#after.join("");
  }

  /** What stands before the cursor. */
  get before(): string {
    return this.#before.join("");
  }

  /** Replace everything; the cursor is at the end. */
  set(text: string): void {
    this.#before = graphemes(text);
    this.#after = [];
  }

  /** Insert at the cursor. What may not be in a text of a user (control characters) is left out. */
  insert(text: string): void {
    // Joined with the character before: an accent, or the second half of a flag, becomes one with it.
    const joined =
      (this.#before.pop() ?? "") + text.replace(/\r\n?/g, "\n").replace(/(?![\n\t])\p{Cc}/gu, "");
    for (const grapheme of graphemes(joined)) this.#before.push(grapheme);
  }

  left(): void {
    this.#after.unshift(...this.#before.splice(-1));
  }

  right(): void {
    this.#before.push(...this.#after.splice(0, 1));
  }

  backspace(): void {
    this.#before.pop();
  }

  delete(): void {
    this.#after.shift();
  }

  /** To the beginning and end of the line that the cursor is in. */
  home(): void {
    this.#back(this.#before.length - this.#lineStart());
  }

  end(): void {
    this.#forth(this.#lineEnd());
  }

  wordLeft(): void {
    this.#back(this.#wordBefore());
  }

  wordRight(): void {
    this.#forth(wordLength(this.#after));
  }

  killWordLeft(): void {
    const count = this.#wordBefore();
    this.#kill(count === 0 ? [] : this.#before.splice(-count));
  }

  killWordRight(): void {
    this.#kill(this.#after.splice(0, wordLength(this.#after)));
  }

  killToStart(): void {
    this.#kill(this.#before.splice(this.#lineStart()));
  }

  /** At the end of a line: the line break. */
  killToEnd(): void {
    this.#kill(this.#after.splice(0, this.#lineEnd() || 1));
  }

  /** Insert what was killed last. */
  yank(): void {
    this.insert(this.#killed);
  }

  /** Swap the characters around the cursor. */
  transpose(): void {
    if (this.#after.length > 0) this.right();
    if (this.#before.length >= 2) this.#before.push(...this.#before.splice(-2).reverse());
  }

  /** To the line above, into the same column as far as there is one; false in the first line. */
  up(): boolean {
    const start = this.#lineStart();
    if (start === 0) return false;
    const column = this.#before.length - start;
    this.#back(column + 1);
    this.#back(Math.max(0, this.#before.length - this.#lineStart() - column));
    return true;
  }

  /** To the line below; false in the last one. */
  down(): boolean {
    const end = this.#lineEnd();
    if (end === this.#after.length) return false;
    const column = this.#before.length - this.#lineStart();
    this.#forth(end + 1);
    this.#forth(Math.min(column, this.#lineEnd()));
    return true;
  }

  #back(count: number): void {
    if (count > 0) this.#after.unshift(...this.#before.splice(-count));
  }

  #forth(count: number): void {
    this.#before.push(...this.#after.splice(0, count));
  }

  #lineStart(): number {
    return this.#before.lastIndexOf("\n") + 1;
  }

  #lineEnd(): number {
    const end = this.#after.indexOf("\n");
    return end < 0 ? this.#after.length : end;
  }

  #wordBefore(): number {
    return wordLength(this.#before.toReversed());
  }

  #kill(killed: readonly string[]): void {
    if (killed.length > 0) this.#killed = killed.join("");
  }
}

/** Graphemes up to the end of the first word. */
function wordLength(text: readonly string[]): number {
  const isWord = (grapheme: string) => /[\p{L}\p{N}_]/u.test(grapheme);
  const first = text.findIndex(isWord);
  if (first < 0) return text.length;
  const end = text.findIndex((grapheme, index) => index > first && !isWord(grapheme));
  return end < 0 ? text.length : end;
}
