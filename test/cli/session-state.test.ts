import { describe, expect, it } from "vitest";
import { mismatch, settingsOf, withSettings } from "../../src/cli/session-state.ts";
import type { TalkOptions } from "../../src/cli/talk.ts";
import { conversation } from "../session-store/conversation.mjs";

const { model } = conversation(1).content;
const date = new Date("2026-01-02T03:04:05Z");
const options: TalkOptions = {
  system: "",
  sampling: { temperature: 0.8, topK: 40 },
  template: { date: new Date("2026-05-05T00:00:00Z") },
  verbose: false,
};

describe("a KV cache", () => {
  it.each([
    [{}, undefined],
    [{ name: "Renamed", source: "moved.gguf" }, undefined],
    [{ fingerprint: "fedcba" }, /another model, Tiny \(tiny\.gguf\)/],
    [{ dtype: "f32" }, /weights in q8, these are f32/],
    [{ cacheFormat: 3 }, /another version of sluice/],
    [{ kv: { ...model.kv, type: "f32" } }, /is f16, this one f32/],
    [{ kv: { ...model.kv, format: 2 } }, /another version of sluice/],
    [{ kv: { ...model.kv, blockBytes: 1 } }, /another version of sluice/],
  ])("fits a model that is %j: %s", (changes, told) => {
    const problem = mismatch(model, { ...model, ...changes });
    if (told === undefined) expect(problem).toBeUndefined();
    else expect(problem).toMatch(told);
  });
});

describe("saved settings", () => {
  const saved = {
    ...options,
    sampling: { temperature: 0.1, topK: 7, seed: 5 },
    maxTokens: 99,
    template: { date, chatTemplateKwargs: { enable_thinking: false } },
  };

  it("come back, but for what was given on the command line", () => {
    const settings = settingsOf(saved);
    expect(JSON.parse(JSON.stringify(settings))).toEqual(settings);
    expect(withSettings(options, settings, new Set())).toEqual(saved);
    expect(withSettings(options, settings, new Set(["temp", "date"]))).toEqual({
      ...saved,
      sampling: { temperature: 0.8, topK: 7, seed: 5 },
      template: { ...saved.template, ...options.template },
    });
  });

  it("that make no sense are left alone", () => {
    const odd = {
      sampling: { temperature: -1, topK: "many" },
      maxTokens: -3,
      date: "yesterday",
      variables: [1],
    };
    expect(withSettings(options, odd, new Set())).toEqual(options);
    expect(withSettings(options, {}, new Set())).toEqual(options);
  });
});
