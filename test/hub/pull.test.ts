import { randomBytes } from "node:crypto";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { SluiceError } from "../../src/errors.ts";
import { pullModel } from "../../src/hub/pull.ts";
import type { PullEvent, PullOptions } from "../../src/hub/types.ts";
import { findModel } from "../../src/models-on-disk/find-model.ts";
import { entryOf, FakeHub, sendAndCut, sendBytes } from "./fake-hub.ts";

const QUICK = { firstMs: 1, tries: 3, longestMs: 2000, stallMs: 300 };
const REPO = "org/Tiny-GGUF";
const NAME = `hf:${REPO}:Q8_0`;
const BYTES = randomBytes(300_000);
const OTHER = randomBytes(70_000);

let cacheDir: string;
let hub: FakeHub;
let events: PullEvent[];

beforeEach(async () => {
  cacheDir = mkdtempSync(join(tmpdir(), "sluice-pull-"));
  events = [];
  hub = await FakeHub.start(REPO, { "README.md": "# Tiny", "Tiny-F16.gguf": OTHER, "Tiny-Q8_0.gguf": BYTES });
});
afterEach(async () => {
  await hub.stop();
  rmSync(cacheDir, { recursive: true, force: true });
});

function pull(name = NAME, options: Partial<PullOptions> = {}) {
  return pullModel(name, {
    cacheDir,
    endpoint: hub.endpoint,
    patience: QUICK,
    onProgress: (event) => events.push(event),
    ...options,
  });
}

async function failure(name = NAME, options: Partial<PullOptions> = {}): Promise<SluiceError> {
  const error = await pull(name, options).then(
    () => undefined,
    (error) => error,
  );
  expect(error).toBeInstanceOf(SluiceError);
  return error;
}

const folder = () => join(cacheDir, "models--org--Tiny-GGUF");
const blobOf = (bytes: Buffer) => join(folder(), "blobs", entryOf("x.gguf", bytes).lfs!.oid);
const partial = () => `${blobOf(BYTES)}.incomplete`;
const found = (name = NAME) => findModel(name, { huggingFace: cacheDir, ollama: [], lmStudio: [] });
const retries = () => events.filter((event) => event.type === "retry");

/** Comparing them byte by byte, as `toEqual` does, takes a second. */
const holds = (path: string, bytes: Buffer) => readFileSync(path).equals(bytes);

/** Put a beginning of the file there, as a pull that was killed leaves it. */
function begin(bytes: Buffer): void {
  mkdirSync(dirname(partial()), { recursive: true });
  writeFileSync(partial(), bytes);
}

describe("a pull", () => {
  it("is laid out as huggingface_hub does, and found by its name", async () => {
    const result = await pull();
    expect(result).toMatchObject({
      name: NAME,
      files: 1,
      bytes: 300_000,
      receivedBytes: 300_000,
      reused: false,
    });
    expect(holds(result.path, BYTES)).toBe(true);
    expect(found()).toBe(result.path);
    expect(found(`hf:${REPO}`)).toBe(result.path);
    const snapshot = join(folder(), "snapshots", hub.commit);
    expect(readdirSync(snapshot)).toEqual(["Tiny-Q8_0.gguf"]);
    expect(readlinkSync(result.path)).toBe(join("..", "..", "blobs", entryOf("x.gguf", BYTES).lfs!.oid));
    expect(readFileSync(join(folder(), "refs/main"), "utf8")).toBe(hub.commit);
    expect(readdirSync(join(folder(), "blobs"))).toEqual([entryOf("x.gguf", BYTES).lfs!.oid]);
    expect(readdirSync(join(cacheDir, ".locks/models--org--Tiny-GGUF"))).toEqual([]);
  });

  it("of what is there asks for no file", async () => {
    await pull();
    const before = statSync(found()).mtimeMs;
    hub.requests.length = 0;
    expect(await pull("hf:ORG/tiny-gguf:q8_0")).toMatchObject({ reused: true, receivedBytes: 0 });
    expect(hub.downloads).toEqual([]);
    expect(statSync(found()).mtimeMs).toBe(before);
  });

  it("of a new commit with the same file makes a link only", async () => {
    await pull();
    hub.commit = "f".repeat(40);
    const { path, receivedBytes } = await pull();
    expect(receivedBytes).toBe(0);
    expect(found()).toBe(path);
    expect(path).toContain(hub.commit);
    expect(readdirSync(join(folder(), "blobs"))).toHaveLength(1);
  });

  it("goes on where an earlier one was killed, and checks that part too", async () => {
    begin(BYTES.subarray(0, 123_456));
    const { receivedBytes } = await pull();
    expect(receivedBytes).toBe(300_000 - 123_456);
    expect(hub.downloads.map(({ headers }) => headers.range)).toEqual(["bytes=123456-"]);
    expect(holds(found(), BYTES)).toBe(true);
    expect(events[0]).toMatchObject({ type: "start", bytes: 300_000, haveBytes: 123_456 });
    expect(events).toContainEqual({ type: "bytes", phase: "check", fileBytes: 123_456, doneBytes: 123_456 });
  });

  it("that was killed before the last step needs no network for the file", async () => {
    begin(BYTES);
    expect(await pull()).toMatchObject({ receivedBytes: 0, reused: false });
    expect(hub.downloads).toEqual([]);
    rmSync(found());
    await pull();
    expect(hub.downloads).toEqual([]);
    expect(holds(found(), BYTES)).toBe(true);
  });

  it("begins anew where more is there than the file has", async () => {
    begin(Buffer.concat([BYTES, OTHER]));
    await pull();
    expect(holds(found(), BYTES)).toBe(true);
  });

  it("replaces a blob that is too short", async () => {
    await pull();
    truncateSync(blobOf(BYTES), 1000);
    expect(await pull()).toMatchObject({ reused: false });
    expect(holds(found(), BYTES)).toBe(true);
  });

  it("stops at once, keeps what has arrived and says how to go on", async () => {
    const stop = new AbortController();
    hub.misbehave = (request, response, path) =>
      path.includes("/resolve/") && request.headers.range === undefined
        ? void response.writeHead(200, { "content-length": BYTES.length }).write(BYTES.subarray(0, 100_000))
        : false;
    const onProgress = (event: PullEvent) => {
      if (event.type === "bytes" && event.fileBytes === 100_000) stop.abort("SIGINT");
    };
    const error = await failure(NAME, { signal: stop.signal, onProgress });
    expect(error).toMatchObject({ code: "aborted", message: "stopped; 100 kB of 300 kB are kept" });
    expect(error.next).toBe(`\`sluice pull ${NAME}\` goes on from there.`);
    expect(() => found()).toThrow(/is not in the Hugging Face cache/);
    await pull();
    expect(holds(found(), BYTES)).toBe(true);
  });

  it("of the same file by two at once is one download", async () => {
    const results = await Promise.all([pull(), pull(), pull()]);
    expect(results.map(({ path }) => path)).toEqual([found(), found(), found()]);
    expect(hub.downloads).toHaveLength(1);
    expect(holds(found(), BYTES)).toBe(true);
  });

  it("of what needs more room than there is does not begin", async () => {
    hub.list = (entries) => entries.map((entry) => ({ ...entry, lfs: { ...entry.lfs, size: 2 ** 52 } }));
    const error = await failure();
    expect(error).toMatchObject({ code: "no-space" });
    expect(error.message).toMatch(/needs 4504 TB, .* has .* free/);
    expect(hub.downloads).toEqual([]);
    expect(existsSync(folder())).toBe(false);
  });

  it("asks nobody when it is to be offline", async () => {
    expect(await failure(NAME, { offline: true })).toMatchObject({
      code: "network",
      message: expect.stringMatching(/HF_HUB_OFFLINE/),
    });
    await pull();
    const asked = hub.requests.length;
    expect(await pull(NAME, { offline: true })).toMatchObject({ path: found(), reused: true });
    expect(hub.requests).toHaveLength(asked);
  });
});

describe("what is pulled", () => {
  it("is all parts of a split model, shown when the last one is here", async () => {
    const parts = [1, 2, 3].map((part) => [
      `q8/Big-Q8_0-0000${part}-of-00003.gguf`,
      randomBytes(1000 * part),
    ]);
    for (const [name, bytes] of parts) hub.files.set(name as string, bytes as Buffer);
    hub.files.delete("Tiny-Q8_0.gguf");
    hub.misbehave = (_, response, path) =>
      path.includes("00003-of") ? response.writeHead(404).end() : false;
    await failure();
    expect(() => found()).toThrow(/not in the Hugging Face cache/);
    hub.misbehave = () => false;
    hub.requests.length = 0;
    const { path, files } = await pull();
    expect(files).toBe(3);
    expect(hub.downloads).toHaveLength(1);
    expect(path).toMatch(/q8.Big-Q8_0-00001-of-00003\.gguf$/);
    expect(found()).toBe(path);
    for (const [name, bytes] of parts)
      expect(holds(join(folder(), "snapshots", hub.commit, name as string), bytes as Buffer)).toBe(true);
  });

  it("is a folder of safetensors where there is no GGUF", async () => {
    hub.files.clear();
    const wanted = {
      "config.json": "{}",
      "tokenizer.json": '{"a":1}',
      "tokenizer_config.json": '{"b":1}',
      "chat_template.jinja": "{{ x }}",
      "model.safetensors.index.json": '{"weight_map":{}}',
      "model-00001-of-00002.safetensors": "one",
      "model-00002-of-00002.safetensors": "two",
    };
    const others = {
      "consolidated.safetensors": "both",
      "pytorch_model.bin": "x",
      "onnx/config.json": "{ }",
    };
    for (const [name, text] of Object.entries({ ...wanted, ...others }))
      hub.files.set(name, Buffer.from(text));
    const { path, name } = await pull(`hf:${REPO}`);
    expect(name).toBe(`hf:${REPO}`);
    expect(path).toBe(join(folder(), "snapshots", hub.commit));
    expect(readdirSync(path).sort()).toEqual(Object.keys(wanted).sort());
    for (const [name, text] of Object.entries(wanted))
      expect(readFileSync(join(path, name), "utf8")).toBe(text);
    expect(found(`hf:${REPO}`)).toBe(path);
    // Small files are named by Git's hash, as their ETag is.
    expect(readdirSync(join(folder(), "blobs"))).toContain(entryOf("config.json", Buffer.from("{}")).oid);
  });
});

describe("a hub that", () => {
  it("cuts connections is asked for the rest", async () => {
    hub.misbehave = (request, response, path) =>
      path.includes("/resolve/") && hub.downloads.length <= 6
        ? sendAndCut(request, response, BYTES, 40_000)
        : false;
    await pull();
    expect(holds(found(), BYTES)).toBe(true);
    expect(retries()).toHaveLength(6);
    expect(retries()[0].reason).toMatch(
      /Tiny-Q8_0.gguf stopped after [\d.]+ kB of 300 kB: the connection was cut/,
    );
    expect(hub.downloads[6].headers.range).toMatch(/^bytes=2\d{5}-$/);
  });

  it("cuts connections without sending anything is left after some tries, and all is kept", async () => {
    begin(BYTES.subarray(0, 1000));
    hub.misbehave = (request, response, path) =>
      path.includes("/resolve/") ? sendAndCut(request, response, BYTES, 0) : false;
    const error = await failure();
    expect(error).toMatchObject({
      code: "network",
      message: expect.stringMatching(/stopped after 1.00 kB of 300 kB/),
    });
    expect(error.next).toContain("is kept");
    expect(hub.downloads).toHaveLength(QUICK.tries + 1);
    expect(statSync(partial()).size).toBe(1000);
  });

  it("ends early without saying so is asked for the rest", async () => {
    hub.misbehave = (request, response, path) =>
      path.includes("/resolve/") && request.headers.range === undefined
        ? void response.write(BYTES.subarray(0, 5000), () => response.end())
        : false;
    await pull();
    expect(holds(found(), BYTES)).toBe(true);
  });

  it("falls silent is taken for cut off", async () => {
    hub.misbehave = (request, response, path) => {
      if (!path.includes("/resolve/") || request.headers.range !== undefined) return false;
      response.writeHead(200, { "content-length": BYTES.length });
      response.write(BYTES.subarray(0, 5000));
    };
    await pull();
    expect(retries()[0].reason).toMatch(/nothing came for 0.3 s/);
    expect(holds(found(), BYTES)).toBe(true);
  });

  it("ignores ranges sends all of it again", async () => {
    begin(randomBytes(5000));
    hub.misbehave = (request, response, path) => {
      if (!path.includes("/resolve/")) return false;
      delete request.headers.range;
      sendBytes(request, response, BYTES);
    };
    expect(await pull()).toMatchObject({ receivedBytes: 300_000 });
    expect(holds(found(), BYTES)).toBe(true);
  });

  it("ignores ranges and always cuts at the same place is left after some tries", async () => {
    hub.misbehave = (request, response, path) => {
      if (!path.includes("/resolve/")) return false;
      delete request.headers.range;
      sendAndCut(request, response, BYTES, 50_000);
    };
    expect(await failure()).toMatchObject({ code: "network" });
    expect(hub.downloads.length).toBeLessThan(10);
  });

  it("sends another range than was asked for is not believed", async () => {
    begin(BYTES.subarray(0, 1000));
    hub.misbehave = (_, response, path) =>
      path.includes("/resolve/")
        ? response.writeHead(206, { "content-range": "bytes 500-299999/300000" }).end(BYTES.subarray(500))
        : false;
    expect((await failure()).message).toMatch(/another range/);
    expect(holds(partial(), BYTES.subarray(0, 1000))).toBe(true);
  });

  it.each([
    ["more than it lists", Buffer.concat([BYTES, OTHER]), true],
    ["less than it lists", BYTES.subarray(0, 1000), true],
    ["more than it lists, without saying so", Buffer.concat([BYTES, OTHER]), false],
  ])("has %s is not believed", async (_, bytes, says) => {
    hub.misbehave = (_, response, path) =>
      path.includes("/resolve/")
        ? response.writeHead(200, says ? { "content-length": bytes.length } : {}).end(bytes)
        : false;
    expect((await failure()).message).toMatch(/the hub lists Tiny-Q8_0.gguf with 300000 bytes, but sends/);
    expect(existsSync(blobOf(BYTES))).toBe(false);
  });

  it("has less than is here already says so", async () => {
    begin(BYTES.subarray(0, 1000));
    hub.misbehave = (_, response, path) =>
      path.includes("/resolve/") ? response.writeHead(416, { "content-range": "bytes */500" }).end() : false;
    expect((await failure()).message).toMatch(/but sends bytes \*\/500/);
  });

  it.each([
    ["the whole", Buffer.alloc(0)],
    ["a part that was here", randomBytes(1000)],
  ])("sends other bytes: the checksum of %s is wrong and the file removed", async (_, before) => {
    begin(before);
    const wrong = Buffer.from(BYTES);
    wrong[200_000] ^= 1;
    hub.misbehave = (request, response, path) =>
      path.includes("/resolve/") ? sendBytes(request, response, before.length > 0 ? BYTES : wrong) : false;
    const error = await failure();
    expect(error.message).toMatch(/is damaged: its checksum is [0-9a-f]{64}, the hub lists [0-9a-f]{64}/);
    expect(readdirSync(join(folder(), "blobs"))).toEqual([]);
    expect(() => found()).toThrow();
  });

  it("answers 429 is waited for as long as it asks", async () => {
    const ask = { "retry-after": "1" };
    hub.misbehave = (_, response) => (hub.requests.length === 1 ? response.writeHead(429, ask).end() : false);
    const start = performance.now();
    await pull();
    expect(performance.now() - start).toBeGreaterThan(950);
    expect(retries()).toEqual([
      { type: "retry", reason: expect.stringContaining("429 (too many"), ms: 1000 },
    ]);
  });

  it("answers 429 and asks for an hour is not waited for", async () => {
    hub.misbehave = (_, response) => response.writeHead(429, { "retry-after": "3600" }).end();
    const error = await failure();
    expect(error.message).toMatch(/429 \(too many requests\); it asks to wait 3600 s/);
    expect(hub.requests).toHaveLength(1);
  });

  it("answers 5xx is asked again, but not for ever", async () => {
    hub.misbehave = (_, response) => (hub.requests.length <= 2 ? response.writeHead(503).end() : false);
    await pull();
    expect(retries()).toHaveLength(2);
    hub.requests.length = 0;
    hub.misbehave = (_, response) => response.writeHead(500).end();
    expect((await failure()).message).toMatch(/answers 500/);
    expect(hub.requests).toHaveLength(QUICK.tries + 1);
  });

  it.each([
    [401, {}, undefined, /answers 401 for hf:org\/Tiny-GGUF: there is no such repository/, /set HF_TOKEN/],
    [401, {}, "hf_x", /does not accept the token/, /the token in HF_TOKEN/],
    [
      401,
      { "x-error-code": "GatedRepo" },
      undefined,
      /is gated/,
      /Accept its licence at .*\/org\/Tiny-GGUF, then set HF_TOKEN/,
    ],
    [403, {}, "hf_x", /is gated/, /Accept its licence at .*\/org\/Tiny-GGUF with the account/],
    [404, {}, undefined, /has no model org\/Tiny-GGUF \(404\)/, /hf:ORG\/REPO/],
  ])("answers %i %j says what to do", async (status, headers, token, message, next) => {
    hub.misbehave = (_, response) => response.writeHead(status, headers as Record<string, string>).end();
    const error = await failure(NAME, { token });
    expect(error).toMatchObject({
      code: "network",
      message: expect.stringMatching(message),
      next: expect.stringMatching(next),
    });
    expect(hub.requests).toHaveLength(1);
    expect(existsSync(folder())).toBe(false);
  });

  it("is not there is told at once", async () => {
    const start = performance.now();
    const error = await failure(NAME, { endpoint: "http://127.0.0.1:9", patience: {} });
    expect(error.message).toMatch(/no answer from http:\/\/127.0.0.1:9: /);
    expect(performance.now() - start).toBeLessThan(900);
  });

  it.each(["<html>Log in first</html>", "null", "[]", '{"id":"org/Tiny-GGUF","sha":"../../../etc"}'])(
    "answers %s is no hub",
    async (body) => {
      hub.misbehave = (_, response) => response.end(body);
      expect((await failure()).message).toMatch(/answers something that is no list of files/);
    },
  );

  it.each([null, {}, [null], [{ type: "file" }], [7]])("lists %j gives an error", async (list) => {
    hub.list = () => list;
    expect((await failure()).code).toMatch(/network|bad-input/);
  });

  it("lists pages for ever is left", async () => {
    hub.misbehave = (_, response, path) =>
      path.includes("/tree/")
        ? response.writeHead(200, { link: `<${hub.endpoint}${path}?x=1>; rel="next"` }).end("[]")
        : false;
    expect((await failure()).message).toMatch(/more than 100 pages/);
  });

  it("lists files on several pages has them all", async () => {
    hub.misbehave = (request, response, path) => {
      if (!path.includes("/tree/") || request.url!.includes("page=2")) return false;
      response.writeHead(200, { link: `<${hub.endpoint}${path}?page=2>; rel="next"` }).end("[]");
    };
    await pull();
    expect(existsSync(found())).toBe(true);
  });
});

describe("names and checksums that a hub lists", () => {
  it.each([
    "../../../Tiny-Q8_0.gguf",
    "/tmp/Tiny-Q8_0.gguf",
    "a/../../Tiny-Q8_0.gguf",
    "a//Tiny-Q8_0.gguf",
    "..\\Tiny-Q8_0.gguf",
    "C:Tiny-Q8_0.gguf",
    "\u001b[2JTiny-Q8_0.gguf",
    "a\u0000/Tiny-Q8_0.gguf",
    `${"x".repeat(300)}-Q8_0.gguf`,
  ])("%j is refused, and nothing is written", async (path) => {
    hub.files.clear();
    hub.files.set(path, BYTES);
    expect((await failure()).message).toMatch(/whose name leads elsewhere/);
    expect(readdirSync(cacheDir)).toEqual([]);
  });

  it.each([
    [{ lfs: { oid: "../../../x", size: 300_000 } }, /checksum/],
    [{ lfs: { oid: 5, size: 300_000 } }, /checksum/],
    [{ lfs: undefined, oid: undefined }, /checksum/],
    [{ lfs: { oid: "a".repeat(64), size: -1 } }, /-1 bytes/],
    [{ lfs: { oid: "a".repeat(64), size: "many" } }, /many bytes/],
  ])("%j is refused", async (change, message) => {
    hub.list = (entries) => entries.map((entry) => ({ ...entry, ...change }));
    expect((await failure()).message).toMatch(message);
    expect(readdirSync(cacheDir)).toEqual([]);
  });
});

describe("the token", () => {
  it("goes to the hub with each request, and to no other host", async () => {
    const storage = await FakeHub.start("x/y", {});
    storage.misbehave = (request, response) => sendBytes(request, response, BYTES);
    hub.misbehave = (_, response, path) =>
      path.includes("/resolve/")
        ? response.writeHead(302, { location: `${storage.endpoint}/blob` }).end()
        : false;
    try {
      await pull(NAME, { token: "hf_secret" });
      expect(holds(found(), BYTES)).toBe(true);
      expect(hub.requests.map(({ headers }) => headers.authorization)).toEqual(
        Array(3).fill("Bearer hf_secret"),
      );
      expect(storage.requests.map(({ headers }) => headers.authorization)).toEqual([undefined]);
      expect(JSON.stringify(storage.requests)).not.toContain("secret");
    } finally {
      await storage.stop();
    }
  });

  it("does not go where a list of files continues on another host", async () => {
    const other = await FakeHub.start("x/y", {});
    other.misbehave = (_, response) => response.end("[]");
    hub.misbehave = (_, response, path) =>
      path.includes("/tree/")
        ? response.writeHead(200, { link: `<${other.endpoint}/x>; rel="next"` }).end("[]")
        : false;
    try {
      await failure(NAME, { token: "hf_secret" });
      expect(other.requests.map(({ headers }) => headers.authorization)).toEqual([undefined]);
    } finally {
      await other.stop();
    }
  });

  it("of another kind than hf_… is sent too, one that no header can hold is refused unseen", async () => {
    await pull(NAME, { token: "mirror-token" });
    expect(hub.requests[0].headers.authorization).toBe("Bearer mirror-token");
    const error = await failure(NAME, { token: "hf_a\nb" });
    expect(error.code).toBe("bad-input");
    expect(error.message).not.toContain("hf_a");
  });

  it("is asked for with a new address where that of the storage has expired", async () => {
    const storage = await FakeHub.start("x/y", {});
    storage.misbehave = (request, response) =>
      storage.requests.length === 1 ? response.writeHead(403).end() : sendBytes(request, response, BYTES);
    hub.misbehave = (_, response, path) =>
      path.includes("/resolve/")
        ? response.writeHead(302, { location: `${storage.endpoint}/blob` }).end()
        : false;
    try {
      await pull();
      expect(hub.downloads).toHaveLength(2);
    } finally {
      await storage.stop();
    }
  });
});

it("an endpoint that is none is refused", async () => {
  for (const endpoint of ["huggingface.co", "file:///etc", "ftp://x"])
    expect(await failure(NAME, { endpoint })).toMatchObject({
      code: "bad-input",
      next: expect.stringMatching(/HF_ENDPOINT/),
    });
});

it("an endpoint may end with a slash, and links are links", async () => {
  await pull(NAME, { endpoint: `${hub.endpoint}/` });
  expect(lstatSync(found()).isSymbolicLink()).toBe(true);
});
