import { expect, it } from "vitest";
import { type ChatSettings, findSetting, SETTINGS } from "../../src/cli/chat-settings.ts";

const START: ChatSettings = { sampling: {}, overflow: "stop" };
const change = (name: string, value: string) => findSetting(name).change(START, value, name);

it("shows every option of sampling as the command line has it, with its default", () => {
  expect(SETTINGS.map(({ name, show }) => `${name} ${show(START)}`)).toEqual([
    "temp 0.8",
    "top-k 40",
    "top-p 0.95",
    "min-p 0.05",
    "repeat-penalty 1",
    "repeat-last-n 64",
    "seed -1",
    "predict -1",
    "overflow stop",
  ]);
});

it("changes one and leaves the others", () => {
  expect(change("temp", "0.3").sampling).toEqual({ temperature: 0.3 });
  expect(change("top_k", "5").sampling).toEqual({ topK: 5 });
  expect(change("--temperature", "1").sampling).toEqual({ temperature: 1 });
  expect(change("predict", "9").maxTokens).toBe(9);
  expect(change("overflow", "slide").overflow).toBe("slide");
  const seeded = change("seed", "7");
  expect(seeded.sampling.seed).toBe(7);
  expect(findSetting("seed").change(seeded, "-1", "seed").sampling).toEqual({});
  expect(findSetting("temp").change(change("temp", "0.3"), "default", "temp").sampling.temperature).toBe(0.8);
});

it.each([
  ["temp", "-1", "temp is -1, but must be a number from 0 up"],
  ["temperature", "-1", "temperature is -1, but must be a number from 0 up"],
  ["temp", "hot", "temp is hot, but must be a number"],
  ["top-p", "2", "top-p is 2, but must be a number from 0 to 1"],
  ["temp", "1e9", "temp is 1000000000, but must be a number from 0 to 100"],
  ["seed", "1.5", "seed is 1.5, but must be a whole number from 0 up, or -1"],
  ["predict", "0", "predict is 0, but must be a whole number from 1 up, or -1"],
  ["overflow", "slid", "overflow is slid, but must be stop or slide"],
])("refuses %s %s", (name, value, message) => {
  expect(() => change(name, value)).toThrow(message);
});

it("says which one was meant", () => {
  expect(() => findSetting("tmep")).toThrow(
    expect.objectContaining({
      message: "there is no setting tmep",
      next: "Did you mean temp? /set lists what there is.",
    }),
  );
  expect(() => findSetting("xyzzy")).toThrow(expect.objectContaining({ next: "/set lists what there is." }));
});
