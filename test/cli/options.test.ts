import { Command } from "commander";
import { expect, it } from "vitest";
import { addEngineOptions, parseRam } from "../../src/cli/engine-options.ts";
import { addGenerationOptions, type GenerationFlags, samplingOptions } from "../../src/cli/options.ts";
import { SAMPLING_DEFAULTS } from "../../src/engine/sampler.ts";

function parse(...argv: string[]) {
  const command = addGenerationOptions(new Command().exitOverride().configureOutput({ writeErr: () => {} }));
  const flags = command.parse(argv, { from: "user" }).opts<GenerationFlags>();
  return { flags, sampling: samplingOptions(flags, command) };
}

it("samples by the defaults, with a random seed, when nothing is said", () => {
  const { flags, sampling } = parse();
  expect(sampling).toEqual(SAMPLING_DEFAULTS);
  expect(flags.predict).toBe(-1);
  expect(flags.ctxSize).toBeUndefined();
});

it("takes every option", () => {
  const { flags, sampling } = parse(
    ...["-n", "5", "-c", "128", "--temp", "0", "--top-k", "3", "--top-p", "0.5", "--min-p", "0.1"],
    ...["--repeat-penalty", "1.1", "--repeat-last-n", "10", "-s", "42"],
  );
  expect(flags).toMatchObject({ predict: 5, ctxSize: 128 });
  expect(sampling).toEqual({
    temperature: 0,
    topK: 3,
    topP: 0.5,
    minP: 0.1,
    repeatPenalty: 1.1,
    repeatLastN: 10,
    seed: 42,
  });
});

it.each([
  [["--temp", "hot"], /must be a number/],
  [["--temp", ""], /must be a number/],
  [["--temp", "-1"], /temperature is -1/],
  [["--top-p", "1.5"], /top-p is 1.5/],
  [["-n", "1.5"], /whole number from 1 up, or -1/],
  [["-n", "-2"], /whole number from 1 up, or -1/],
  [["-n", "0"], /whole number from 1 up, or -1/],
  [["--temp", "1e9"], /temperature is 1000000000, but must be a number from 0 to 100/],
  [["-c", "0"], /whole number from 1 up/],
  [["-s", "x"], /whole number from -1 up/],
  [["-s", "9007199254740992"], /whole number from -1 to 9007199254740991/],
])("refuses %j", (argv, message) => {
  expect(() => parse(...argv)).toThrow(message);
});

it.each([
  ["auto", "auto"],
  ["1500000000", 1.5e9],
  ["800M", 8e8],
  [" 2.5g ", 2.5e9],
  ["1GiB", 2 ** 30],
  ["1.5KB", 1500],
  ["4 TB", 4e12],
  ["0", 0],
])("reads %j of memory", (text, bytes) => {
  expect(parseRam(text)).toBe(bytes);
});

it.each(["", "-1", "much", "1X", "1e9", ".5G", "Infinity", "1Gib5"])("refuses %j as a size", (text) => {
  expect(() => parseRam(text)).toThrow(/size as 800M or 2.5G, or auto/);
});

it("refuses more memory and threads than there can be", () => {
  expect(() => parseRam("99999999999999999999T")).toThrow(/more than any machine has/);
  const parseThreads = (count: string) => {
    const command = addEngineOptions(new Command().exitOverride().configureOutput({ writeErr: () => {} }));
    return command.parse(["-t", count], { from: "user" }).opts()["threads"];
  };
  expect(parseThreads("256")).toBe(256);
  expect(() => parseThreads("257")).toThrow(/whole number from 1 to 256/);
  expect(() => parseThreads("0")).toThrow(/whole number from 1 to 256/);
});
