import { Command } from "commander";
import { expect, it } from "vitest";
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
  [["-n", "1.5"], /whole number from -1 up/],
  [["-n", "-2"], /whole number from -1 up/],
  [["-c", "0"], /whole number from 1 up/],
  [["-s", "x"], /whole number from -1 up/],
])("refuses %j", (argv, message) => {
  expect(() => parse(...argv)).toThrow(message);
});
