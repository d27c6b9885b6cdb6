/** What a hub or the network says instead of a file, told in the user's words. */
import { SluiceError } from "../errors.ts";
import { formatBytes } from "../format-bytes.ts";
import { errorCode } from "../store/io-error.ts";

/** What is being pulled, for whom. */
export interface Asking {
  readonly endpoint: string;
  /** `org/repo` */
  readonly repo: string;
  readonly hasToken: boolean;
}

/** Code of the error for a hub that says nothing for too long. */
export const SILENT = "SILENT";

const KEPT = "What has arrived is kept: the same command goes on from there.";
const REASONS: Readonly<Record<string, string>> = {
  ENOTFOUND: "no host of that name is known here",
  EAI_AGAIN: "names of hosts cannot be looked up now",
  ECONNREFUSED: "the connection was refused",
  ECONNRESET: "the connection was cut",
  UND_ERR_SOCKET: "the connection was cut",
  EPIPE: "the connection was cut",
  ETIMEDOUT: "nothing answers",
  UND_ERR_CONNECT_TIMEOUT: "nothing answers",
  ENETUNREACH: "there is no way to that network",
  EHOSTUNREACH: "there is no way to that host",
};
/** What may pass even where nothing has ever answered; a wrong name, port or certificate does not. */
const PASSING = new Set([
  SILENT,
  "EAI_AGAIN",
  "ECONNRESET",
  "EPIPE",
  "ETIMEDOUT",
  "UND_ERR_SOCKET",
  "UND_ERR_CONNECT_TIMEOUT",
]);

/** Whether an answer of this status may be another one later: request timeout, too many requests, the server's own. */
export function mayPass(status: number): boolean {
  return status === 408 || status === 429 || status >= 500;
}

/** The error for an answer that is neither what was asked for nor one that may pass. */
export function refusal(response: Response, asking: Asking): SluiceError {
  const { endpoint, repo, hasToken } = asking;
  const { status } = response;
  const name = `hf:${repo}`;
  const page = `${endpoint}/${repo}`;
  const isGated = response.headers.get("x-error-code") === "GatedRepo";
  if (isGated || status === 403) {
    return refused(
      `${name} is gated: ${endpoint} answers ${status}`,
      hasToken
        ? `Accept its licence at ${page} with the account that HF_TOKEN is of; its token must be allowed to read the repository.`
        : `Accept its licence at ${page}, then set HF_TOKEN to a token of your account.`,
    );
  }
  if (status === 401) {
    return hasToken
      ? refused(
          `${endpoint} answers 401 for ${name}: it does not accept the token, or there is no such repository`,
          "Check the name, and the token in HF_TOKEN.",
        )
      : refused(
          `${endpoint} answers 401 for ${name}: there is no such repository, or it is not public`,
          "Check the name; for a repository that is not public set HF_TOKEN to a token of your account.",
        );
  }
  if (status === 404) {
    return refused(
      `${endpoint} has no model ${repo} (404)`,
      "Names are hf:ORG/REPO[:QUANT], as in the address of the model's page.",
    );
  }
  if (status === 429) {
    const ms = retryAfterMs(response);
    const asks = ms === undefined ? "" : `; it asks to wait ${Math.ceil(ms / 1000)} s`;
    return refused(
      `${endpoint} answers 429 (too many requests)${asks}`,
      hasToken ? KEPT : `${KEPT} With HF_TOKEN set more is allowed.`,
    );
  }
  return refused(`${endpoint} answers ${status}`, status >= 500 ? KEPT : "Check HF_ENDPOINT.");
}

/** Milliseconds that an answer asks to wait: seconds or a date (RFC 9110, 10.2.3). */
export function retryAfterMs(response: Response, now = Date.now()): number | undefined {
  const text = response.headers.get("retry-after")?.trim();
  if (!text) return undefined;
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now;
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}

/** The error for a connection that failed. */
export function unreachable(cause: unknown, endpoint: string): SluiceError {
  const reason = reasonOf(cause);
  return new SluiceError("network", `no answer from ${endpoint}: ${reason}`, {
    next: "Check the network; HF_ENDPOINT names another hub.",
    cause,
  });
}

/** The error for a file that ended too early. */
export function cutOff(cause: unknown, file: string, have: number, bytes: number): SluiceError {
  const reason = cause === undefined ? "the connection ended" : reasonOf(cause);
  return new SluiceError(
    "network",
    `${file} stopped after ${formatBytes(have)} of ${formatBytes(bytes)}: ${reason}`,
    {
      next: KEPT,
      cause,
    },
  );
}

/** Whether a connection that failed may succeed later, though the hub has never answered. */
export function mayConnect(error: unknown): boolean {
  return PASSING.has(errorCode(innermost(error)) ?? "");
}

function refused(message: string, next: string): SluiceError {
  return new SluiceError("network", message, { next });
}

function reasonOf(error: unknown): string {
  const cause = innermost(error);
  return REASONS[errorCode(cause) ?? ""] ?? (cause instanceof Error ? cause.message : String(cause));
}

/** `fetch` says "fetch failed"; why is in the cause. */
function innermost(error: unknown): unknown {
  return error instanceof Error && error.cause !== undefined ? innermost(error.cause) : error;
}
