/** Requests to a hub: the token only to the hub itself, silence taken for a cut connection, failures that may pass tried again. */
import { SluiceError, throwIfAborted } from "../errors.ts";
import { Patience } from "./patience.ts";
import { type Asking, mayConnect, mayPass, refusal, retryAfterMs, SILENT, unreachable } from "./refusal.ts";
import type { PullOptions } from "./types.ts";

export const HUB = "https://huggingface.co";

const STALL_MS = 30_000;
/** A list of files has a few hundred kilobytes a page. */
const MOST_BYTES = 16 << 20;

/** An answer whose body is still to come. */
export interface Answer {
  readonly response: Response;
  /** The body; ends with an error where the connection is cut or silent. To be read once, or left by `cancel`. */
  readonly chunks: AsyncIterable<Uint8Array>;
  cancel(): Promise<void>;
}

export class HubClient {
  readonly endpoint: string;
  readonly patience: Patience;
  readonly #origin: string;
  readonly #token: string | undefined;
  readonly #signal: AbortSignal | undefined;
  readonly #stallMs: number;
  readonly #asking: Asking;
  #hasAnswered = false;

  /** @throws SluiceError `bad-input` for an endpoint or a token that cannot be one */
  constructor(repo: string, { endpoint, token, signal, onProgress, patience = {} }: PullOptions) {
    this.endpoint = (endpoint || HUB).replace(/\/+$/, "");
    this.#origin = originOf(this.endpoint);
    // What a header can hold; an error of fetch would quote it.
    if (token !== undefined && !/^[\x21-\x7e]+$/.test(token)) {
      throw new SluiceError("bad-input", "the token has characters that no token has", {
        next: "Set HF_TOKEN to the token alone: it begins with hf_.",
      });
    }
    this.#token = token;
    this.#signal = signal;
    this.#stallMs = patience.stallMs ?? STALL_MS;
    this.#asking = { endpoint: this.endpoint, repo, hasToken: token !== undefined };
    this.patience = new Patience(patience, signal, (reason, ms) =>
      onProgress?.({ type: "retry", reason, ms }),
    );
  }

  /**
   * Ask for something until there is an answer that will not change.
   *
   * @returns an answer of status 2xx, or 416 (no such range)
   * @throws SluiceError `network`, `aborted`
   */
  async open(url: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    for (;;) {
      throwIfAborted(this.#signal);
      const silence = new Silence(this.#stallMs);
      let response: Response;
      try {
        response = await silence.limit(
          fetch(url, { headers: this.#headers(url, headers), signal: silence.with(this.#signal) }),
        );
      } catch (error) {
        throwIfAborted(this.#signal);
        const failure = unreachable(error, new URL(url).origin);
        if (!this.#hasAnswered && !mayConnect(error)) throw failure;
        await this.patience.failed(failure);
        continue;
      }
      this.#hasAnswered = true;
      if (response.ok || response.status === 416) return answer(response, silence);
      await response.body?.cancel().catch(() => {});
      const failure = refusal(response, this.#asking);
      if (!mayPass(response.status) && !this.#hasExpired(response)) throw failure;
      await this.patience.failed(failure, retryAfterMs(response));
    }
  }

  /** `fetch` as the hub's library wants it: the whole answer, of which a cut one is asked for again. */
  readonly fetchWhole = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const url = input instanceof Request ? input.url : String(input);
    for (;;) {
      const { response, chunks } = await this.open(url, Object.fromEntries(new Headers(init?.headers)));
      const { status, headers } = response;
      try {
        const body = await whole(chunks, this.endpoint);
        this.patience.progressed();
        return new Response(body, { status, headers });
      } catch (error) {
        throwIfAborted(this.#signal);
        if (error instanceof SluiceError) throw error;
        await this.patience.failed(unreachable(error, this.endpoint));
      }
    }
  };

  #headers(url: string, headers: Readonly<Record<string, string>>): Record<string, string> {
    const isHub = originOf(url) === this.#origin;
    return {
      ...headers,
      ...(isHub && this.#token !== undefined && { authorization: `Bearer ${this.#token}` }),
    };
  }

  /** Whether the host that files lie on refuses: the address that the hub gave for it is of use for some time only. */
  #hasExpired({ url, status }: Response): boolean {
    return status === 403 && url !== "" && originOf(url) !== this.#origin;
  }
}

/** Aborts what is silent for too long. */
class Silence {
  readonly #controller = new AbortController();
  readonly #ms: number;

  constructor(ms: number) {
    this.#ms = ms;
  }

  with(signal: AbortSignal | undefined): AbortSignal {
    return signal ? AbortSignal.any([signal, this.#controller.signal]) : this.#controller.signal;
  }

  async limit<T>(promise: Promise<T>): Promise<T> {
    const reason = Object.assign(new Error(`nothing came for ${this.#ms / 1000} s`), { code: SILENT });
    const timer = setTimeout(() => this.#controller.abort(reason), this.#ms);
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
    }
  }
}

function answer(response: Response, silence: Silence): Answer {
  const reader = response.body?.getReader();
  const cancel = async () => reader?.cancel().catch(() => {});
  async function* chunks(): AsyncGenerator<Uint8Array> {
    try {
      while (reader !== undefined) {
        const { done, value } = await silence.limit(reader.read());
        if (done) return;
        yield value;
      }
    } finally {
      await cancel();
    }
  }
  return { response, chunks: chunks(), cancel };
}

async function whole(chunks: AsyncIterable<Uint8Array>, endpoint: string): Promise<Uint8Array<ArrayBuffer>> {
  const all: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > MOST_BYTES)
      throw new SluiceError(
        "network",
        `${endpoint} sends more than ${MOST_BYTES} bytes for a list of files`,
        {
          next: "Check HF_ENDPOINT.",
        },
      );
    all.push(chunk);
  }
  return Buffer.concat(all);
}

function originOf(url: string): string {
  if (URL.canParse(url)) {
    const { protocol, origin } = new URL(url);
    if (protocol === "https:" || protocol === "http:") return origin;
  }
  throw new SluiceError("bad-input", `${JSON.stringify(url)} is no address of a hub`, {
    next: "HF_ENDPOINT is to be like https://huggingface.co.",
  });
}
