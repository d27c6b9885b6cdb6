import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { htmlReport } from "../../src/timing/html-report.ts";
import type { RecordedStage, Recording } from "../../src/timing/recording.ts";
import { CHROMIUM, launch } from "./browser.ts";
import { type SampleOptions, sampleRecording } from "./sample-recording.ts";

const LAYERS = 6;
const small = (options: SampleOptions = {}) => sampleRecording({ layers: LAYERS, decode: 12, ...options });
const sample = small();
const decode = sample.sweeps.filter(({ kind }) => kind === "decode");

// Seconds, but for a machine that does much else.
describe.runIf(CHROMIUM)("the report in a browser", { timeout: 180_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), "sluice-report-"));
  let browser: Browser;

  beforeAll(async () => {
    browser = await launch();
  });
  afterAll(async () => {
    await browser?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  interface Opened {
    readonly page: Page;
    /** What went wrong or wanted to leave the page. */
    readonly trouble: string[];
  }

  async function open(recordings: readonly Recording[], { width = 1200 } = {}): Promise<Opened> {
    const file = join(folder, "report.html");
    writeFileSync(file, htmlReport(recordings));
    const context = await browser.newContext({
      viewport: { width, height: 900 },
    });
    const page = await context.newPage();
    const trouble: string[] = [];
    const address = pathToFileURL(file).href;
    page.on("console", (message) => trouble.push(`${message.type()}: ${message.text()}`));
    page.on("pageerror", (error) => trouble.push(error.message));
    page.on("request", (request) => request.url() !== address && trouble.push(request.url()));
    page.on("dialog", (dialog) => {
      trouble.push(dialog.message());
      void dialog.dismiss();
    });
    await page.goto(address);
    await page.waitForSelector("#charts[data-ready]");
    return { page, trouble };
  }

  /** The numbers of a table, row by row, and what is shown of them. */
  async function table(page: Page, section: string, index = 0): Promise<{ raw: number[]; text: string[] }[]> {
    const details = page.locator(`#${section} details.numbers`).nth(index);
    await details.locator("summary").click();
    await details.locator("table").waitFor();
    return details.locator("tbody tr").evaluateAll((rows) =>
      rows.map((row) => {
        const numbers = [...row.querySelectorAll("data")];
        return {
          raw: numbers.map(({ value }) => Number(value)),
          text: numbers.map(({ textContent }) => textContent),
        };
      }),
    );
  }

  const close = ({ page }: Opened) => page.context().close();

  it("shows the numbers of the recording and nothing else", async () => {
    const opened = await open([sample]);
    const { page, trouble } = opened;

    const mean = (value: (sweep: (typeof decode)[number]) => RecordedStage) => {
      const of = (part: "bytes" | "readMs" | "waitMs" | "computeMs") =>
        decode.reduce((sum, sweep) => sum + value(sweep)[part], 0) / decode.length;
      return [of("bytes") / 1e6, of("readMs"), of("waitMs"), of("computeMs")];
    };
    const layers = await table(page, "layers");
    expect(layers.length).toBe(LAYERS + 2);
    layers.forEach(({ raw, text }, index) => {
      const expected = mean(({ embedding, layers, output }) => [embedding, ...layers, output][index]);
      expected.forEach((value, column) => {
        // Sums are kept to the microsecond.
        expect(raw[column]).toBeCloseTo(value, 3);
      });
      expect(text[2]).toBe(raw[2].toFixed(2));
    });

    const heat = await table(page, "sweeps");
    expect(heat.map(({ raw }) => raw)).toEqual(
      decode.map(({ rows, ms, layers, output }) => [
        rows,
        ms,
        ...[...layers, output].map(({ waitMs }) => waitMs),
      ]),
    );
    const [first] = sample.timelines.filter(({ sweep }) => sample.sweeps[sweep].kind === "decode").slice(1);
    const timeline = await table(page, "timeline");
    expect(timeline.map(({ raw }) => raw)).toEqual(
      first.lanes.flatMap(({ events }) =>
        events.map(({ startMs, ms, bytes }) => [
          startMs - sample.sweeps[first.sweep].startMs,
          ms,
          ...(bytes === undefined ? [] : [bytes / 1e6]),
        ]),
      ),
    );
    const disk = await table(page, "disk");
    disk.forEach(({ raw: [tokens, start, ms, megabytes, rate] }, index) => {
      const sweep = sample.sweeps[index];
      const { embedding, layers, output } = sweep;
      const bytes = [embedding, ...layers, output].reduce((sum, stage) => sum + stage.bytes, 0);
      expect([tokens, start, ms]).toEqual([sweep.rows, sweep.startMs, sweep.ms]);
      expect(megabytes).toBe(bytes / 1e6);
      expect(rate).toBeCloseTo(bytes / sweep.ms / 1000, 6);
    });
    const memory = await table(page, "memory");
    expect(memory.map(({ raw }) => raw)).toEqual(
      sample.memory.map(({ atMs, rssBytes }) => [atMs, rssBytes / 1e6]),
    );
    const files = await table(page, "unpack", 0);
    expect(files.map(({ raw }) => raw[6])).toEqual(sample.unpack!.files.map(({ writeMs }) => writeMs));
    const stages = await table(page, "unpack", 1);
    expect(stages).toHaveLength(7);
    expect(stages.at(-1)!.raw[0]).toBeCloseTo(sample.spans.find(({ name }) => name === "unpack")!.ms, 3);
    const tensors = await table(page, "unpack", 2);
    expect(tensors.map(({ raw }) => raw[2])).toEqual(
      sample.unpack!.files.flatMap((file) => file.tensors.map(({ dequantizeMs }) => dequantizeMs)),
    );
    const run = await table(page, "run");
    const covered = run.reduce((sum, { raw, text }) => sum + (text.length === 2 ? raw[0] : raw[1]), 0);
    expect(covered).toBeCloseTo(sample.ms, 3);

    expect(trouble).toEqual([]);
    await close(opened);
  });

  it("is walked with the keyboard, and says where one is", async () => {
    const opened = await open([sample]);
    const { page } = opened;
    const chart = (section: string) => page.locator(`#${section} [role=slider]`);
    const said = async (section: string) => {
      const text = (await chart(section).getAttribute("aria-valuetext"))!;
      expect(await page.locator(`#${section} .readout`).textContent()).toBe(text);
      return text.replaceAll("\u00a0", " ");
    };

    await page.locator("#layers input:checked").focus();
    await page.keyboard.press("Tab");
    expect(await page.locator("#layers [role=slider]:focus-visible").count()).toBe(1);
    expect(await page.evaluate("getComputedStyle(document.activeElement).outlineStyle")).toBe("solid");
    expect(await said("layers")).toMatch(/^Embedding: waiting 0\.21 ms/);
    await page.keyboard.press("ArrowRight");
    expect(await said("layers")).toMatch(
      /^Layer 0: waiting .* attention .* feed-forward .* reading .* MB, 2\.\d+ GB\/s\.$/,
    );
    await page.keyboard.press("End");
    expect(await said("layers")).toMatch(/^Output: /);
    await page.keyboard.press("ArrowRight");
    expect(await said("layers")).toMatch(/^Output: /);
    expect(await page.locator("#layers .mark").isVisible()).toBe(true);

    await chart("sweeps").focus();
    for (const key of ["ArrowRight", "ArrowDown", "ArrowDown"]) await page.keyboard.press(key);
    const { waitMs } = decode[1].layers[2];
    expect(await said("sweeps")).toBe(`Decode sweep 2, layer 2: waiting ${waitMs.toPrecision(3)} ms.`);
    await page.keyboard.press("End");
    expect(await said("sweeps")).toMatch(/^Decode sweep 12, layer 2/);

    await chart("timeline").focus();
    for (const key of ["End", "+", "+", "ArrowDown", "ArrowLeft"]) await page.keyboard.press(key);
    expect(await said("timeline")).toMatch(/^Compute 0: (waits for|computes) /);
    expect(await page.locator("#timeline .mark").isVisible()).toBe(true);
    await page.keyboard.press("Tab");
    expect(await said("timeline")).toMatch(
      /^Decode sweep 2, .* of the computing is hidden behind reading\.$/,
    );
    await close(opened);
  });

  it("shows what is chosen", async () => {
    const opened = await open([sample]);
    const { page, trouble } = opened;
    await page.locator("#sweeps label", { hasText: "computing" }).click();
    const heat = await table(page, "sweeps");
    expect(heat[3].raw[2]).toBe(decode[3].layers[0].computeMs);
    await page.locator("#layers label", { hasText: "prefill" }).click();
    expect(await page.locator("#layers .readout").textContent()).toMatch(/^One prefill sweep/);
    await page.locator("#timeline select").selectOption({ label: "last decode sweep" });
    expect(await page.locator("#timeline .readout").textContent()).toMatch(/^Last decode sweep/);
    const box = (await page.locator("#layers .u-over").boundingBox())!;
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    expect(await page.locator("#layers .readout").textContent()).toMatch(/^Layer [23]: /);
    expect(trouble).toEqual([]);
    await close(opened);
  });

  it.each([
    [400, 1],
    [400, 2],
    [2000, 2],
  ])("fits %i pixels with %i recordings, light and dark", async (width, count) => {
    const opened = await open([sample, small({ dtype: "q8" })].slice(0, count), { width });
    const { page, trouble } = opened;
    for (const summary of await page.locator("summary").all()) await summary.click();
    for (const dark of [false, true]) {
      await page.emulateMedia({ colorScheme: dark ? "dark" : "light" });
      const { wide, ground, ink, drawn } = await page.evaluate<Looks>(LOOKS);
      expect(wide).toBeLessThanOrEqual(width);
      const light = (colour: string) => Number(colour.match(/\d+/)![0]) > 128;
      expect([light(ground), light(ink)]).toEqual([!dark, dark]);
      expect(drawn).toEqual(Array.from({ length: 7 * count }, () => true));
    }
    expect(trouble).toEqual([]);
    await close(opened);
  });

  it("follows when the light goes out, and when the window is made narrow", async () => {
    const opened = await open([sample]);
    const { page } = opened;
    const canvas = page.locator("#layers .chart canvas");
    const before = await canvas.screenshot();
    await page.emulateMedia({ colorScheme: "dark" });
    expect((await canvas.screenshot()).equals(before)).toBe(false);
    await page.setViewportSize({ width: 420, height: 800 });
    await expect.poll(async () => (await canvas.boundingBox())!.width).toBeLessThan(420);
    await close(opened);
  });

  it("runs nothing that a name brings along", async () => {
    const name = `</script><script>alert(1)</script><img src=x onerror="alert(2)">`;
    const opened = await open([
      {
        ...sample,
        model: { ...sample.model!, name },
        unpack: { files: [{ ...sample.unpack!.files[0], name }] },
      },
    ]);
    const { page, trouble } = opened;
    expect(await page.locator("h1").textContent()).toBe(name);
    await page.locator("#unpack [role=slider]").focus();
    await table(page, "unpack");
    expect(await page.locator("#unpack tbody th").textContent()).toBe(name);
    expect(trouble).toEqual([]);
    await close(opened);
  });

  it.each<[string, Recording, string[]]>([
    ["unpacking alone", small({ decode: 0, prefill: false }), ["memory", "unpack", "run"]],
    [
      "one sweep",
      small({ decode: 1, prefill: false, unpack: false }),
      ["layers", "sweeps", "timeline", "disk", "memory", "run"],
    ],
    [
      "nothing read",
      inMemory(small({ dtype: "q8", unpack: false })),
      ["layers", "sweeps", "timeline", "disk", "memory", "run"],
    ],
    [
      "nothing at all",
      { ...small({ decode: 0, prefill: false, unpack: false }), memory: [], spans: [], ms: 0 },
      ["memory", "run"],
    ],
    [
      "a long run",
      sampleRecording({ layers: 80, decode: 2000, unpack: false }),
      ["layers", "sweeps", "timeline", "disk", "memory", "run"],
    ],
  ])("draws a recording of %s", async (_name, recording, sections) => {
    const opened = await open([recording]);
    const { page, trouble } = opened;
    expect(await page.locator("#charts > section").evaluateAll((all) => all.map(({ id }) => id))).toEqual(
      sections,
    );
    for (const slider of await page.locator("[role=slider]").all()) {
      await slider.focus();
      for (const key of ["ArrowRight", "ArrowDown", "PageDown", "Home", "ArrowUp", "+", "0"])
        await page.keyboard.press(key);
    }
    const text = (await page.locator("main").textContent())!;
    expect(text).not.toMatch(/NaN|Infinity|undefined|null/);
    expect(trouble).toEqual([]);
    await close(opened);
  });
});

interface Looks {
  /** Width of the page, with what sticks out. */
  readonly wide: number;
  readonly ground: string;
  readonly ink: string;
  /** Of each chart, whether anything is on it. */
  readonly drawn: readonly boolean[];
}

const LOOKS = `({
  wide: document.documentElement.scrollWidth,
  ground: getComputedStyle(document.body).backgroundColor,
  ink: getComputedStyle(document.body).color,
  drawn: [...document.querySelectorAll(".chart canvas")].map((canvas) => {
    const copy = new OffscreenCanvas(64, 64).getContext("2d");
    copy.drawImage(canvas, 0, 0, 64, 64);
    return copy.getImageData(0, 0, 64, 64).data.some((value) => value > 0);
  }),
})`;

/** As if all weights had been in memory: no reads, no waits. */
function inMemory(recording: Recording): Recording {
  const still = (stage: RecordedStage): RecordedStage => ({ ...stage, bytes: 0, readMs: 0, waitMs: 0 });
  return {
    ...recording,
    verdict: { bound: "memory", text: "in memory" },
    timelines: recording.timelines.map((timeline) => ({
      ...timeline,
      lanes: timeline.lanes.map((lane) => ({
        ...lane,
        events: lane.events.filter(({ kind }) => kind !== "read" && kind !== "wait"),
      })),
    })),
    sweeps: recording.sweeps.map((sweep) => ({
      ...sweep,
      embedding: still(sweep.embedding),
      layers: sweep.layers.map(still),
      output: still(sweep.output),
    })),
  };
}
