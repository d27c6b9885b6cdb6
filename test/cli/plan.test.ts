import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { choiceLines, parseChoice } from "../../src/cli/choose-dtype.ts";
import { planLines, secondsText } from "../../src/cli/plan-view.ts";
import { usefulDtypes } from "../../src/plan/needs.ts";
import { type Plan, planWith } from "../../src/plan/plan.ts";
import { openSubject } from "../../src/plan/subject.ts";
import { MODEL, sluice } from "./spawn.ts";

const folder = mkdtempSync(join(tmpdir(), "sluice-plan-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** The bundled model on a machine that is made up; made so large in `sweepBytes` that its speeds are worth showing. */
function madeUpPlan(): Plan {
  const plan = smallPlan();
  return { ...plan, dtypes: plan.dtypes.map((dtype) => ({ ...dtype, sweepBytes: 100 * dtype.sweepBytes })) };
}

function smallPlan(): Plan {
  const subject = openSubject(MODEL);
  const rehearsal = { decode: 1e-5, prefill: 1e-6, attention: 1e-9 };
  return planWith(
    subject,
    { root: "/data/sluice", threads: 2 },
    {
      disk: { direct: 1e9, buffered: 5e8, cached: 1e10 },
      diskFree: 72e9,
      memoryFree: 2e9,
      rehearsals: new Map(usefulDtypes(subject.plan).map((dtype) => [dtype, rehearsal])),
    },
  );
}

describe("a plan in words", () => {
  it("shows disk, speeds and memory of each dtype", () => {
    expect(planLines(madeUpPlan()).join("\n")).toMatchSnapshot();
  });

  it("shows no speeds of a model so small that they would be noise", () => {
    const text = planLines(smallPlan()).join("\n");
    expect(text).toMatchSnapshot();
    expect(text).not.toMatch(/\d m?s\b|t\/s/);
  });

  it("has times of three digits", () => {
    const times = [null, 0.0000123, 0.02046, 0.0995, 0.973, 12.34, 1234.5];
    expect(times.map(secondsText)).toEqual([
      "-",
      "0.01 ms",
      "20.5 ms",
      "0.10 s",
      "0.97 s",
      "12.3 s",
      "1235 s",
    ]);
  });
});

describe("the question before the first unpack", () => {
  it("shows what each dtype costs", () => {
    expect(choiceLines(madeUpPlan()).join("\n")).toMatchSnapshot();
  });

  it("shows no speeds of small models", () => {
    expect(choiceLines(smallPlan())[2]).toMatch(/^ +on disk +weights$/);
    expect(choiceLines(smallPlan()).join("\n")).not.toMatch(/\d m?s\b/);
  });

  it("takes Enter for the recommended dtype, and names", () => {
    const plan = madeUpPlan();
    const answers = ["", "  ", "f32", " Q8 ", "f16", "native", "q3", "yes"];
    expect(answers.map((answer) => parseChoice(plan, answer))).toEqual([
      ...["q8", "q8", "f32", "q8", "f16", undefined, undefined, undefined],
    ]);
  });
});

describe("plan", () => {
  it("prints one JSON object before unpacking, and writes nothing but what it measured", async () => {
    const root = join(folder, "root");
    const argv = ["plan", MODEL, "--json", "--cache-dir", root, "-c", "512"];
    const first = await sluice(argv);
    expect(first.code, first.stderr).toBe(0);
    expect(existsSync(root)).toBe(false);
    const plan = JSON.parse(first.stdout);
    expect(plan).toMatchObject({ recommended: "q8", foretellable: false, context: 512, parameters: 1839680 });
    const bytes = Object.fromEntries(
      plan.dtypes.map((one: { dtype: string; bytes: number }) => [one.dtype, one.bytes]),
    );
    await sluice(["unpack", MODEL, "--dtype", "q8", "--cache-dir", root]);
    const [entry] = JSON.parse((await sluice(["cache", "ls", "--json", "--cache-dir", root])).stdout);
    // A cache has a manifest too.
    expect(entry.bytes - bytes["q8"]).toBeGreaterThan(0);
    expect(entry.bytes - bytes["q8"]).toBeLessThan(100_000);

    const again = await sluice(argv);
    expect(readdirSync(root).sort()).toEqual(["disk.json", entry.name].sort());
    expect(JSON.parse(again.stdout).dtypes[2].budgets[0]).toMatchObject({ budget: "stream" });
    const long = await sluice(["plan", MODEL, "--cache-dir", root, "-c", "100000000"]);
    expect(long.stderr).toBe(
      "sluice: the model was trained for a context of 1024 tokens; it may talk nonsense beyond\n",
    );
    expect(again.stderr).toBe("");
    const cached = await sluice(["plan", join(root, entry.name), "--cache-dir", root]);
    expect(cached.stdout).toMatch(/^q8 \(recommended\) /m);
  });
});
