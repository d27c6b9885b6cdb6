/** A Hugging Face hub on 127.0.0.1 that has one repository, and can be made to misbehave. */
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** Answers a request in its own way; false: the usual answer is given. */
export type Misbehaviour = (request: IncomingMessage, response: ServerResponse, path: string) => unknown;

export interface Entry {
  readonly type: string;
  readonly path: string;
  readonly size: number;
  readonly oid: string;
  readonly lfs?: { readonly oid: string; readonly size: number; readonly pointerSize: number };
}

export class FakeHub {
  readonly repo: string;
  readonly files: Map<string, Buffer>;
  readonly requests: { readonly url: string; readonly headers: IncomingMessage["headers"] }[] = [];
  commit = "0123456789abcdef0123456789abcdef01234567";
  misbehave: Misbehaviour = () => false;
  /** What the list of files is made into. */
  list: (entries: Entry[]) => unknown = (entries) => entries;
  readonly #server: Server;

  private constructor(repo: string, files: Readonly<Record<string, Buffer | string>>) {
    this.repo = repo;
    this.files = new Map(Object.entries(files).map(([path, bytes]) => [path, Buffer.from(bytes)]));
    this.#server = createServer((request, response) => this.#answer(request, response));
  }

  static async start(repo: string, files: Readonly<Record<string, Buffer | string>>): Promise<FakeHub> {
    const hub = new FakeHub(repo, files);
    await new Promise<void>((resolve) => hub.#server.listen(0, "127.0.0.1", resolve));
    return hub;
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Requests for files. */
  get downloads(): FakeHub["requests"] {
    return this.requests.filter(({ url }) => url.includes("/resolve/"));
  }

  stop(): Promise<void> {
    this.#server.closeAllConnections();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const { url = "", headers } = request;
    this.requests.push({ url, headers });
    const path = decodeURIComponent(new URL(url, "http://x").pathname);
    if (this.misbehave(request, response, path) === false) this.#answerWell(request, response, path);
  }

  #answerWell(request: IncomingMessage, response: ServerResponse, path: string): void {
    const isOf = (wanted: string) =>
      path.toLowerCase() === `/api/models/${this.repo}/${wanted}`.toLowerCase();
    const resolve = `/${this.repo}/resolve/${this.commit}/`;
    const bytes = path.startsWith(resolve) ? this.files.get(path.slice(resolve.length)) : undefined;
    if (isOf("revision/main")) json(response, { _id: "1", id: this.repo, sha: this.commit });
    else if (isOf(`tree/${this.commit}`))
      json(response, this.list([...this.files].map(([path, bytes]) => entryOf(path, bytes))));
    else if (bytes === undefined) response.writeHead(404, { "x-error-code": "RepoNotFound" }).end();
    else sendBytes(request, response, bytes);
  }
}

/** Send bytes, or the range of them that is asked for. */
export function sendBytes(request: IncomingMessage, response: ServerResponse, bytes: Buffer): void {
  const from = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? "")?.[1] ?? 0);
  const part = bytes.subarray(from);
  const range = { "content-range": `bytes ${from}-${bytes.length - 1}/${bytes.length}` };
  response.writeHead(request.headers.range ? 206 : 200, {
    "content-length": part.length,
    ...(request.headers.range && range),
  });
  response.end(part);
}

/** Send a beginning of what was promised, then cut the connection. */
export function sendAndCut(
  request: IncomingMessage,
  response: ServerResponse,
  bytes: Buffer,
  count: number,
): void {
  const from = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? "")?.[1] ?? 0);
  response.writeHead(request.headers.range ? 206 : 200, {
    "content-length": bytes.length - from,
    ...(request.headers.range && { "content-range": `bytes ${from}-${bytes.length - 1}/${bytes.length}` }),
  });
  response.write(bytes.subarray(from, from + count), () => setTimeout(() => response.destroy(), 20));
}

/** As the hub lists files: large ones, and all weights, by SHA-256; others as Git does. */
export function entryOf(path: string, bytes: Buffer): Entry {
  const git = createHash("sha1").update(`blob ${bytes.length}\0`).update(bytes).digest("hex");
  const size = bytes.length;
  if (!/\.(gguf|safetensors)$/.test(path)) return { type: "file", path, size, oid: git };
  const oid = createHash("sha256").update(bytes).digest("hex");
  return { type: "file", path, size, oid: git, lfs: { oid, size, pointerSize: 134 } };
}

function json(response: ServerResponse, value: unknown): void {
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(value));
}
