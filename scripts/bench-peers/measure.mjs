// @ts-check
/** Running one measurement in a memory cgroup of its own, from a cold page cache. Linux, root. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * @typedef {object} Circumstances
 * @property {string} limit of the cgroup, "" for none
 * @property {boolean} [warm] leave the page cache as it is
 * @property {{ path: string, bytes: string } | undefined} [disk] bytes a second that it reads at most from the disk of this path
 * @property {boolean} [hugePages] for the ring; default: yes
 * @property {string} node to run it with
 */

/**
 * Run a script that prints a line of JSON at its end.
 *
 * @param {Circumstances} circumstances
 * @param {string[]} args the script and its arguments
 */
export function measure({ limit, warm, disk, hugePages = true, node }, args) {
  const group = `/sys/fs/cgroup/memory/sluice-bench-${process.pid}`;
  if (limit) {
    if (!existsSync(group)) mkdirSync(group);
    writeFileSync(join(group, "memory.limit_in_bytes"), limit);
  }
  const throttle = `/sys/fs/cgroup/blkio/sluice-bench-${process.pid}`;
  if (disk) {
    if (!existsSync(throttle)) mkdirSync(throttle);
    const bytes = disk.bytes.replace(/M$/i, "000000");
    writeFileSync(join(throttle, "blkio.throttle.read_bps_device"), `${device(disk.path)} ${bytes}`);
  }
  spawnSync("sync");
  if (!warm) writeFileSync("/proc/sys/vm/drop_caches", "3");
  const enter = [...(limit ? [group] : []), ...(disk ? [throttle] : [])]
    .map((folder) => `echo $$ > ${folder}/cgroup.procs && `)
    .join("");
  const env = { ...process.env };
  // As the command line starts itself (src/cli/second-process.ts).
  env["GLIBC_TUNABLES"] = `glibc.malloc.arena_max=1${hugePages ? ":glibc.malloc.hugetlb=1" : ""}`;
  const command = [node, "--max-semi-space-size=1", ...args];
  const { stdout, status, stderr } = spawnSync("bash", ["-c", `${enter}exec "$@"`, "_", ...command], {
    encoding: "utf8",
    env,
    timeout: 600_000,
  });
  if (limit) rmdirSync(group);
  if (disk) rmdirSync(throttle);
  if (status !== 0) throw new Error(`${args.join(" ")}: ${stderr}`);
  return JSON.parse(stdout.trim().split("\n").at(-1) ?? "");
}

/** @param {readonly number[]} values */
export function median(values) {
  return values.toSorted((a, b) => a - b)[values.length >> 1];
}

/**
 * How far the system reads ahead of page faults on the disk that a file is on, in KB.
 *
 * @param {string} path
 */
export function readAhead(path) {
  const file = readAheadFile(path);
  return file === undefined ? undefined : Number(readFileSync(file, "utf8"));
}

/**
 * Set it until the process ends.
 *
 * @param {string} path
 * @param {string} kilobytes
 */
export function setReadAhead(path, kilobytes) {
  const file = readAheadFile(path);
  if (file === undefined) throw new Error(`no read-ahead to be set for ${path}`);
  const before = readFileSync(file, "utf8");
  writeFileSync(file, kilobytes);
  process.on("exit", () => writeFileSync(file, before));
  for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(1));
}

/**
 * Numbers of the device that a file is on, as major:minor.
 *
 * @param {string} path
 */
function device(path) {
  const { dev } = statSync(path);
  return `${Math.floor(dev / 256) & 0xfff}:${dev & 0xff}`;
}

/** @param {string} path */
function readAheadFile(path) {
  const file = `/sys/dev/block/${device(path)}/queue/read_ahead_kb`;
  return existsSync(file) ? file : undefined;
}

/** @param {string} node */
export function nodeVersion(node) {
  return spawnSync(node, ["--version"], { encoding: "utf8" }).stdout.trim();
}
