/** `pull` and `rm` as people type them, against a hub on 127.0.0.1. */
import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { entryOf, FakeHub } from "../hub/fake-hub.ts";
import { environment, MAIN, MODEL, sluice } from "./spawn.ts";
import { besideTerminal, HAS_TERMINAL } from "./terminal.ts";

const NAME = "hf:org/Tiny-GGUF:q8_0";
const TINY = readFileSync(MODEL);
const BIG = randomBytes(3_000_000);

let hub: FakeHub;
let home: string;
let env: Record<string, string>;

beforeAll(async () => {
  hub = await FakeHub.start("org/Tiny-GGUF", { "Tiny-Q8_0.gguf": TINY, "Tiny-F16.gguf": BIG });
});
afterAll(() => hub.stop());
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "sluice-hub-"));
  env = { HOME: home, HF_ENDPOINT: hub.endpoint, HF_HOME: join(home, "hf") };
  hub.misbehave = () => false;
  hub.requests.length = 0;
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const repo = () => join(home, "hf/hub/models--org--Tiny-GGUF");
const blobs = () => (existsSync(join(repo(), "blobs")) ? readdirSync(join(repo(), "blobs")) : []);
const shaOf = (bytes: Buffer) => entryOf("x.gguf", bytes).lfs!.oid;
const command = (...argv: string[]) => sluice(argv, { env });

/** Send files slowly: half a megabyte, then nothing until the rest is let through. */
function slowly(bytes: Buffer): () => void {
  const rest: (() => void)[] = [];
  hub.misbehave = (request, response, path) => {
    if (!path.includes("/resolve/") || request.headers.range !== undefined) return false;
    response.writeHead(200, { "content-length": bytes.length });
    response.write(bytes.subarray(0, 500_000));
    rest.push(() => response.end(bytes.subarray(500_000)));
  };
  return () => {
    for (const send of rest) send();
  };
}

/** A pull that is running, when so many bytes are on the disk. */
async function begun(
  bytes: number,
): Promise<{ child: ChildProcess; ended: Promise<[number | null, string]> }> {
  const child = spawn(process.execPath, [MAIN, "pull", "hf:org/Tiny-GGUF:F16"], { env: environment(env) });
  let stderr = "";
  child.stderr.on("data", (text) => {
    stderr += text;
  });
  const ended = new Promise<[number | null, string]>((resolve) =>
    child.on("close", (code) => resolve([code, stderr])),
  );
  const partial = join(repo(), "blobs", `${shaOf(BIG)}.incomplete`);
  await expect
    .poll(() => existsSync(partial) && readFileSync(partial).length, { timeout: 20_000 })
    .toBe(bytes);
  return { child, ended };
}

describe("pull", () => {
  it("prints the path; what was pulled is found by its name, and once more does nothing", async () => {
    const first = await command("pull", NAME);
    const path = join(repo(), "snapshots", hub.commit, "Tiny-Q8_0.gguf");
    expect(first).toMatchObject({ code: 0, stdout: `${path}\n` });
    expect(first.stderr).toMatch(/^Pulling hf:org\/Tiny-GGUF:q8_0, 2.02 MB, to .*\n/);
    expect(first.stderr).toMatch(/\n100 % {2}2.02 MB of 2.02 MB\nPulled hf:org\/Tiny-GGUF:q8_0, 2.02 MB, in/);
    expect((await command("inspect", NAME)).stdout).toContain("Tiny-SmolLM3-Chat: smollm3, 36 layers");
    const second = await command("pull", NAME);
    expect(second).toMatchObject({
      code: 0,
      stdout: `${path}\n`,
      stderr: `${NAME} is here already, 2.02 MB.\n`,
    });
    expect(hub.downloads).toHaveLength(1);
  });

  it("is what to do about a model that is not here", async () => {
    expect((await command("inspect", NAME)).stderr).toContain(
      "`npx sluice pull hf:org/Tiny-GGUF:q8_0` downloads it",
    );
    await command("pull", NAME);
    expect((await command("inspect", "hf:org/Tiny-GGUF:f16")).stderr).toContain(
      "`npx sluice pull hf:org/Tiny-GGUF:f16` looks for it on the hub",
    );
  });

  it("alone takes SmolLM3-3B as Q8_0", async () => {
    const { code, stderr } = await command("pull");
    expect(code).toBe(1);
    expect(hub.requests[0].url).toContain("/api/models/ggml-org/SmolLM3-3B-GGUF/");
    expect(stderr).toContain("has no model ggml-org/SmolLM3-3B-GGUF (404)");
  });

  it.each([
    [
      "hf:org/Tiny-GGUF",
      /could be 2 models: Tiny-F16.gguf \(3.00 MB\), Tiny-Q8_0.gguf \(2.02 MB\)\n {2}Name one .*: hf:org\/Tiny-GGUF:F16/,
    ],
    [
      "hf:org/Tiny-GGUF:q5",
      /hf:org\/Tiny-GGUF:q5 is not there; there is Tiny-F16.gguf \(3.00 MB\), Tiny-Q8_0.gguf \(2.02 MB\)/,
    ],
    [
      "org/Tiny-GGUF:Q8_0",
      /no name of a model on a Hugging Face hub\n {2}Perhaps hf:org\/Tiny-GGUF:Q8_0 is meant/,
    ],
    ["ollama:tiny", /no name of a model on a Hugging Face hub/],
    ["hf:../../x", /is no name of a model/],
    ["hf:a/b/c", /is no name of a model/],
  ])("%s is answered with what there is", async (name, message) => {
    const { code, stderr, stdout } = await command("pull", name);
    expect(code).toBe(1);
    expect(stdout).toBe("");
    expect(stderr).toMatch(message);
  });

  it("without a quant takes Q4_K_M where there are several", async () => {
    hub.files.set("Tiny-Q4_K_M.gguf", randomBytes(100));
    try {
      const { stdout, stderr } = await command("pull", "hf:org/Tiny-GGUF");
      expect(stdout).toMatch(/Tiny-Q4_K_M.gguf\n$/);
      expect(stderr).toContain("Pulled hf:org/Tiny-GGUF:Q4_K_M, 100 B");
    } finally {
      hub.files.delete("Tiny-Q4_K_M.gguf");
    }
  });

  it("is stopped by Ctrl-C with 130, killed with -9, and goes on", async () => {
    slowly(BIG);
    const first = await begun(500_000);
    first.child.kill("SIGINT");
    const [code, stderr] = await first.ended;
    expect(code).toBe(130);
    expect(stderr).toMatch(
      /sluice: stopped; 500 kB of 3.00 MB are kept\n {2}`npx sluice pull hf:org\/Tiny-GGUF:F16` goes on from there.\n$/,
    );
    hub.misbehave = (_, response, path) => {
      if (!path.includes("/resolve/")) return false;
      const range = { "content-range": `bytes 500000-${BIG.length - 1}/${BIG.length}` };
      response.writeHead(206, range).write(BIG.subarray(500_000, 1_200_000));
    };
    const second = await begun(1_200_000);
    second.child.kill("SIGKILL");
    await second.ended;
    hub.misbehave = () => false;
    const third = await command("pull", "hf:org/Tiny-GGUF:F16");
    expect(third.stderr).toContain("3.00 MB, of which 1.20 MB are here");
    expect(third.stderr).toContain("3.00 MB, 1.80 MB of it now,");
    expect(hub.downloads.at(-1)!.headers.range).toBe("bytes=1200000-");
    expect(readFileSync(third.stdout.trim()).equals(BIG)).toBe(true);
  });

  it("waits for another process that pulls the same", async () => {
    const letGo = slowly(BIG);
    const first = await begun(500_000);
    const second = await begun(500_000);
    second.child.stderr!.on("data", (text) => {
      if (`${text}`.includes("waiting for it")) letGo();
    });
    const [[firstCode], [secondCode, stderr]] = await Promise.all([first.ended, second.ended]);
    expect([firstCode, secondCode]).toEqual([0, 0]);
    expect(stderr).toMatch(
      new RegExp(`process ${first.child.pid} is downloading the same since .*: waiting for it`),
    );
    expect(hub.downloads).toHaveLength(1);
    expect(blobs()).toEqual([shaOf(BIG)]);
  });

  it("follows the variables of huggingface_hub", async () => {
    const cache = join(home, "elsewhere");
    env = { ...env, HF_HUB_CACHE: cache, HF_TOKEN: " hf_mine\n" };
    expect((await command("pull", NAME)).stdout).toContain(join(cache, "models--org--Tiny-GGUF"));
    expect(new Set(hub.requests.map(({ headers }) => headers.authorization))).toEqual(
      new Set(["Bearer hf_mine"]),
    );
    hub.requests.length = 0;
    env = { ...env, HF_HUB_OFFLINE: "1" };
    expect(await command("pull", NAME)).toMatchObject({ code: 0, stderr: `${NAME} is here already.\n` });
    const offline = await command("pull", "hf:org/Tiny-GGUF:F16");
    expect(offline.code).toBe(1);
    expect(offline.stderr).toMatch(/HF_HUB_OFFLINE says not to ask the hub\n {2}Unset HF_HUB_OFFLINE/);
    expect(hub.requests).toEqual([]);
  });

  it("takes the token that `hf auth login` has left", async () => {
    mkdirSync(join(home, "hf"));
    writeFileSync(join(home, "hf/token"), "hf_file\n");
    await command("pull", NAME);
    expect(hub.requests[0].headers.authorization).toBe("Bearer hf_file");
  });

  it("lets no name of a hub drive a terminal or make lines of its own", async () => {
    hub.files.set("\u001b[2J\nsluice: all is well-Q2_K.gguf", TINY);
    try {
      for (const name of ["hf:org/Tiny-GGUF:Q2_K", "hf:org/Tiny-GGUF:Q3_K"]) {
        const { stderr } = await command("pull", name);
        expect(stderr).toContain("1b");
        expect(stderr).not.toContain("\u001b");
        expect(stderr).not.toMatch(/^sluice: all is well/m);
      }
    } finally {
      hub.files.delete("\u001b[2J\nsluice: all is well-Q2_K.gguf");
    }
  });

  it.runIf(process.platform === "linux")("keeps what it has when there is no more room", async () => {
    const limited = (kilobytes: number) =>
      new Promise<[number | null, string]>((resolve) => {
        const script = `trap '' XFSZ; ulimit -f ${kilobytes}; exec "$0" "$@"`;
        const child = spawn("bash", ["-c", script, process.execPath, MAIN, "pull", "hf:org/Tiny-GGUF:F16"], {
          env: environment(env),
        });
        let stderr = "";
        child.stderr.on("data", (text) => {
          stderr += text;
        });
        child.on("close", (code) => resolve([code, stderr]));
      });
    const [code, stderr] = await limited(1000);
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /sluice: cannot write .*\.incomplete: the file would be larger than allowed\n.*ulimit -f/,
    );
    expect(blobs()).toEqual([`${shaOf(BIG)}.incomplete`]);
    const { code: again, stdout } = await command("pull", "hf:org/Tiny-GGUF:F16");
    expect(again).toBe(0);
    expect(hub.downloads.at(-1)!.headers.range).toMatch(/^bytes=\d{6,7}-$/);
    expect(readFileSync(stdout.trim()).equals(BIG)).toBe(true);
  });

  it.runIf(HAS_TERMINAL)("shows bytes, speed and the time that is left, within the window", async () => {
    hub.files.set("Part-Q6_K-00001-of-00002.gguf", BIG);
    hub.files.set("Part-Q6_K-00002-of-00002.gguf", TINY);
    hub.misbehave = (_, response, path) => {
      if (!path.includes("/resolve/")) return false;
      const bytes = path.includes("00001") ? BIG : TINY;
      response.writeHead(200, { "content-length": bytes.length }).write(bytes.subarray(0, 1_000_000));
      setTimeout(() => response.end(bytes.subarray(1_000_000)), 700);
    };
    try {
      const { output, code } = await besideTerminal(["pull", "hf:org/Tiny-GGUF:Q6_K"], [], {
        variables: env,
      });
      expect(code, output).toBe(0);
      expect(output).toMatch(/all {17} █+░+ \d+% {2}1.00 MB of 5.02 MB {2}[\d.]+ [kM]B\/s {2}\d+ s left/);
      expect(output).toMatch(
        /…00001-of-00002.gguf █+░+ 33% {2}1.00 MB of 3.00 MB {2}[\d.]+ [kM]B\/s {2}\d+ s left/,
      );
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what moves the cursor
      for (const line of output.split(/\r|\n|\u001b\[\d*[A-Z]/).filter((line) => line.includes("█")))
        expect(line.length).toBeLessThanOrEqual(80);
    } finally {
      hub.files.delete("Part-Q6_K-00001-of-00002.gguf");
      hub.files.delete("Part-Q6_K-00002-of-00002.gguf");
    }
  });
});

const vectors = new URL("../../../shared/vectors/models/hf/smollm3-gqa8", import.meta.url).pathname;
describe.runIf(existsSync(vectors))("a repository of safetensors", () => {
  it("is pulled, inspected and removed as one", async () => {
    const files = readdirSync(vectors).map((name) => [name, readFileSync(join(vectors, name))]);
    const folders = await FakeHub.start("org/Folder", Object.fromEntries(files));
    env = { ...env, HF_ENDPOINT: folders.endpoint };
    try {
      const { code, stdout, stderr } = await command("pull", "hf:org/Folder");
      expect(code, stderr).toBe(0);
      expect(readdirSync(stdout.trim())).not.toContain("transformers-logits.f32.bin");
      expect((await command("inspect", "hf:org/Folder")).stdout).toContain("smollm3");
      expect((await command("rm", "hf:org/Folder", "--yes")).stdout).toMatch(/19.2 MB freed/);
    } finally {
      await folders.stop();
    }
  });
});

describe("rm", () => {
  it("of a download frees its bytes, and keeps what others use", async () => {
    await command("pull", NAME);
    await command("pull", "hf:org/Tiny-GGUF:F16");
    expect(await command("rm", "hf:org/Tiny-GGUF:F16", "--yes")).toMatchObject({
      code: 0,
      stdout: "Deleted hf:org/Tiny-GGUF:F16, 3.00 MB freed\n",
    });
    expect(blobs()).toEqual([shaOf(TINY)]);
    expect((await command("inspect", NAME)).code).toBe(0);
    await command("rm", "hf:org/tiny-gguf", "-y");
    expect(existsSync(repo())).toBe(false);
    const { code, stderr } = await command("rm", NAME, "-y");
    expect(code).toBe(1);
    expect(stderr).toContain(`${NAME} is not in the Hugging Face cache`);
  });

  it("without a terminal needs --yes", async () => {
    await command("pull", NAME);
    const { code, stderr } = await command("rm", NAME);
    expect(code).toBe(2);
    expect(stderr).toContain("without a terminal to ask on, deleting needs --yes");
    expect(blobs()).toHaveLength(1);
  });

  it.runIf(HAS_TERMINAL)("asks, with what it is and how much that frees", async () => {
    await command("pull", NAME);
    const rm = (answer: string) =>
      besideTerminal(["rm", NAME], [["[y/N]", `${answer}\r`]], { variables: env });
    const no = await rm("n");
    expect(no.text).toMatch(/hf:org\/Tiny-GGUF:q8_0\s+Tiny-Q8_0.gguf\s+Delete these, which frees 2.02 MB\?/);
    expect(blobs()).toHaveLength(1);
    expect((await rm("y")).text).toContain("Deleted hf:org/Tiny-GGUF:q8_0, 2.02 MB freed");
    expect(existsSync(repo())).toBe(false);
  });

  it("refuses what is being downloaded, and takes what is left of it", async () => {
    slowly(BIG);
    const { child, ended } = await begun(500_000);
    const busy = await command("rm", "hf:org/Tiny-GGUF", "-y");
    expect(busy.code).toBe(1);
    expect(busy.stderr).toMatch(new RegExp(`process ${child.pid} is downloading`));
    child.kill("SIGKILL");
    await ended;
    expect((await command("rm", "hf:org/Tiny-GGUF", "-y")).stdout).toBe(
      "Deleted hf:org/Tiny-GGUF, 500 kB freed\n",
    );
    expect(existsSync(repo())).toBe(false);
  });
});

it("help and completion know both", async () => {
  const help = await command("pull", "--help");
  expect(help.stdout).toContain("sluice pull hf:ggml-org/SmolLM3-3B-GGUF:Q4_K_M");
  expect((await command("rm", "--help")).stdout).toContain("--yes");
  for (const shell of ["bash", "zsh", "fish"])
    expect((await command("completion", shell)).stdout).toMatch(/\bpull\b/);
});
