import { EventEmitter } from "node:events";
import { expect, it } from "vitest";
import { Screen } from "../../src/cli/screen.ts";

class FakeTerminal extends EventEmitter {
  columns = 80;
  rows = 24;
  written = "";
  write(text: string): void {
    this.written += text;
  }
  /** What was written since the last time. */
  take(): string {
    const { written } = this;
    this.written = "";
    return written;
  }
}

const LEAVE = "\x1b[?7h\x1b[?25h\x1b[?1049l";
const at = (row: number, text: string) => `\x1b[${row};1H\x1b[K${text}`;
const frame = (...parts: string[]) => `\x1b[?2026h${parts.join("")}\x1b[?2026l`;

function create() {
  const terminal = new FakeTerminal();
  const screen = new Screen(terminal, () => screen.draw(["again"]));
  return { terminal, screen };
}

it("draws only what has changed", () => {
  const { terminal, screen } = create();
  screen.draw(["not open"]);
  expect(terminal.take()).toBe("");
  screen.open();
  expect(terminal.take()).toBe("\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J");
  screen.draw(["one", "two", "three"]);
  expect(terminal.take()).toBe(frame(at(1, "one"), at(2, "two"), at(3, "three")));
  screen.draw(["one", "2", "three"]);
  expect(terminal.take()).toBe(frame(at(2, "2")));
  screen.draw(["one", "2", "three"]);
  expect(terminal.take()).toBe("");
  screen.draw(["one"]);
  expect(terminal.take()).toBe(frame(at(2, ""), at(3, "")));
  screen.close();
});

it("draws all again when the window has another size", () => {
  const { terminal, screen } = create();
  screen.open();
  screen.draw(["again", "below"]);
  terminal.take();
  terminal.columns = 100;
  terminal.emit("resize");
  expect(terminal.take()).toBe(`\x1b[2J${frame(at(1, "again"))}`);
  expect(screen.size).toEqual({ columns: 100, rows: 24 });
  screen.close();
});

it("leaves the terminal as it was, once, and leaves no listeners behind", () => {
  const { terminal, screen } = create();
  const events = ["exit", "uncaughtExceptionMonitor"] as const;
  const counts = events.map((event) => process.listenerCount(event));
  screen.open();
  screen.open();
  terminal.take();
  for (const event of events) expect(process.listeners(event as "exit")).toContain(screen.close);
  screen.close();
  screen.close();
  expect(terminal.take()).toBe(LEAVE);
  expect(events.map((event) => process.listenerCount(event))).toEqual(counts);
  expect(terminal.listenerCount("resize")).toBe(0);
});
