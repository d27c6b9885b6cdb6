/**
 * One unpacker per cache folder, one writer per saved conversation.
 *
 * Whoever wants the lock lays a claim beside the folder or file, a file of a name that nobody uses twice, then looks at all
 * claims. The lock is held by one who finds that every other claim is that of a dead process; otherwise the claim
 * is withdrawn. Of two that come at once, at least one sees the other, so never do both proceed; and because no
 * name is used twice, the claim of a dead process can be removed by anybody at any time without a race.
 */
import { randomBytes } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, readlinkSync, rmSync, statSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { basename, dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { SluiceError, throwIfAborted } from "../errors.ts";

/** Who holds a lock. */
export interface LockHolder {
  readonly pid: number;
  readonly host: string;
  /** Identity of the process id space (Linux: of the container); elsewhere empty. */
  readonly space: string;
  /** Start of the process in clock ticks since boot (Linux), so that a pid used again is not mistaken. */
  readonly started: string;
  /** When the lock was taken, ISO 8601. */
  readonly since: string;
}

export interface LockOptions {
  readonly signal?: AbortSignal | undefined;
  /** Called once for each holder that is waited for. */
  readonly onWait?: ((holder: LockHolder) => void) | undefined;
  /** What the holder does with the folder or file, for errors. Default: unpacking. */
  readonly doing?: string | undefined;
}

const POLL_MS = 100;
/** A claim that is still not readable after this long is that of a process that died while writing it. */
const UNWRITTEN_MS = 5000;

/**
 * Take the lock of a cache folder or a file, waiting for a living holder.
 *
 * @returns a function that releases it
 * @throws SluiceError `locked` where a process on another machine holds it, `aborted`; the operating system's error
 */
export async function acquireLock(folder: string, options: LockOptions = {}): Promise<() => void> {
  const path = claimPrefix(folder) + randomBytes(8).toString("hex");
  let seen = "";
  let told = "";
  for (;;) {
    throwIfAborted(options.signal);
    let holder = lockHolder(folder);
    if (!holder) {
      layClaim(path);
      holder = lockHolder(folder, path);
      if (!holder) return releaser(path);
      rmSync(path, { force: true });
    }
    if (holder.host !== hostname() || holder.space !== processSpace())
      throw lockedElsewhere(folder, holder, options.doing);
    const identity = `${holder.pid} ${holder.since}`;
    // A claim that is only being tried is gone by the next look and not worth telling of.
    if (identity === seen && identity !== told) {
      told = identity;
      options.onWait?.(holder);
    }
    seen = identity;
    await pause(POLL_MS * (0.5 + Math.random()), options.signal);
  }
}

/** What withdraws a claim; it happens by itself where the process exits before, so that nobody has to find it dead. */
function releaser(path: string): () => void {
  const remove = () => rmSync(path, { force: true });
  process.once("exit", remove);
  return () => {
    process.removeListener("exit", remove);
    remove();
  };
}

/** Who holds the lock of a folder, if anyone; claims of dead processes are removed. */
export function lockHolder(folder: string, except?: string): LockHolder | undefined {
  const root = dirname(folder);
  const prefix = basename(claimPrefix(folder));
  let names: string[];
  try {
    names = readdirSync(root).filter((name) => name.startsWith(prefix));
  } catch {
    return undefined;
  }
  for (const name of names) {
    const path = join(root, name);
    if (path === except) continue;
    const holder = readClaim(path);
    if (holder) return holder;
  }
  return undefined;
}

function claimPrefix(folder: string): string {
  return `${folder}.lock-`;
}

function layClaim(path: string): void {
  const claim: LockHolder = {
    pid: process.pid,
    host: hostname(),
    space: processSpace(),
    started: processStart(process.pid),
    since: new Date().toISOString(),
  };
  try {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, JSON.stringify(claim), { flag: "wx" });
  } catch (error) {
    rmSync(path, { force: true });
    throw error;
  }
}

/** The claim in a file, or undefined (and the file is removed) where its process is dead. */
function readClaim(path: string): LockHolder | undefined {
  const claim = parseClaim(path);
  if (claim && !isDead(claim)) return claim;
  if (!claim) {
    const age = Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0);
    if (age < UNWRITTEN_MS)
      return { pid: 0, host: hostname(), space: processSpace(), started: "", since: "" };
  }
  rmSync(path, { force: true });
  return undefined;
}

function parseClaim(path: string): LockHolder | undefined {
  try {
    const claim = JSON.parse(readFileSync(path, "utf8")) as LockHolder;
    return Number.isSafeInteger(claim.pid) && claim.pid > 0 ? claim : undefined;
  } catch {
    return undefined;
  }
}

/** Whether a claim's process is known to be gone: only processes of this machine can be known. */
function isDead({ pid, host, space, started }: LockHolder): boolean {
  if (host !== hostname() || space !== processSpace()) return false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ESRCH";
  }
  const running = processStart(pid);
  return started !== "" && running !== "" && running !== started;
}

/**
 * When a process started, or "dead" where it only waits for its parent to notice; empty where that is unknown.
 * Fields 3 and 22 of /proc/PID/stat (proc(5)); field 2 is a name in parentheses that may hold anything.
 */
function processStart(pid: number): string {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return fields[0] === "Z" || fields[0] === "X" ? "dead" : fields[19];
  } catch {
    return "";
  }
}

function processSpace(): string {
  try {
    return readlinkSync("/proc/self/ns/pid");
  } catch {
    return "";
  }
}

function lockedElsewhere(folder: string, { pid, host, since }: LockHolder, doing = "unpacking"): SluiceError {
  return new SluiceError(
    "locked",
    `process ${pid} on ${host} has been ${doing} ${folder} since ${since}; whether it still runs cannot be seen from here`,
    { next: `Wait for it; if it is gone, delete the files ${claimPrefix(folder)}*` },
  );
}

async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  try {
    await sleep(ms, undefined, signal ? { signal } : {});
  } catch {
    throwIfAborted(signal);
  }
}
