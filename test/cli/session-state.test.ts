import { describe, expect, it } from "vitest";
import {
  type ChatState,
  forgottenOf,
  mismatch,
  settingsOf,
  withSettings,
} from "../../src/cli/session-state.ts";
import { conversation } from "../session-store/conversation.mjs";

const { model } = conversation(1).content;
const date = new Date("2026-01-02T03:04:05Z");
const state: ChatState = {
  settings: { sampling: { temperature: 0.8, topK: 40 }, maxTokens: undefined, overflow: "stop" },
  template: { date: new Date("2026-05-05T00:00:00Z") },
  think: undefined,
};

describe("a KV cache", () => {
  it.each([
    [{}, undefined],
    [{ name: "Renamed", source: "moved.gguf" }, undefined],
    [{ fingerprint: "fedcba" }, /another model, Tiny \(tiny\.gguf\)/],
    [{ dtype: "f32" }, /weights in q8, these are f32 \(--dtype q8 takes it up as it was\)$/],
    [{ cacheFormat: 3 }, /another version of sluice/],
    [{ kv: { ...model.kv, type: "f32" } }, /is f16, this one f32/],
    [{ kv: { ...model.kv, longRope: true } }, /held in a shorter context/],
    [{ kv: { ...model.kv, format: 2 } }, /another version of sluice/],
    [{ kv: { ...model.kv, blockBytes: 1 } }, /another version of sluice/],
  ])("fits a model that is %j: %s", (changes, told) => {
    const problem = mismatch(model, { ...model, ...changes });
    if (told === undefined) expect(problem).toBeUndefined();
    else expect(problem).toMatch(told);
  });
});

describe("saved settings", () => {
  const saved: ChatState = {
    settings: { sampling: { temperature: 0.1, topK: 7, seed: 5 }, maxTokens: 99, overflow: "slide" },
    template: { date, chatTemplateKwargs: { enable_thinking: false } },
    think: "hide",
  };

  it("come back, but for what was given on the command line", () => {
    const settings = settingsOf(saved);
    expect(JSON.parse(JSON.stringify(settings))).toEqual(settings);
    expect(withSettings(state, settings, new Set())).toEqual(saved);
    expect(withSettings(state, settings, new Set(["temp", "date", "overflow", "think"]))).toEqual({
      settings: { sampling: { temperature: 0.8, topK: 7, seed: 5 }, maxTokens: 99, overflow: "stop" },
      template: { ...saved.template, ...state.template },
      think: undefined,
    });
  });

  it("that make no sense are left alone", () => {
    const odd = {
      sampling: { temperature: -1, topK: "many" },
      maxTokens: -3,
      date: "yesterday",
      variables: [1],
      overflow: "burst",
      think: 7,
      forgotten: "all",
    };
    expect(withSettings(state, odd, new Set())).toEqual(state);
    expect(withSettings(state, {}, new Set())).toEqual(state);
    expect([forgottenOf(odd), forgottenOf({ forgotten: 3 })]).toEqual([0, 3]);
  });
});
