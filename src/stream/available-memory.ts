import { readFileSync } from "node:fs";
import { freemem } from "node:os";
import { join } from "node:path";

/**
 * Bytes that this process could still use without pushing anyone's memory out: what the system has available (page cache
 * that can be dropped included), and what is left below the memory limits of its cgroups.
 */
export function availableMemory(): number {
  const system = field("/proc/meminfo", /^MemAvailable:\s+(\d+) kB/m);
  return Math.min(system === undefined ? freemem() : system * 1024, ...cgroupRooms());
}

/** What is left in each memory cgroup from this process's own up to the root. */
function cgroupRooms(): number[] {
  const groups = read("/proc/self/cgroup");
  if (groups === undefined) return [];
  const v1 = /^\d+:(?:[^:]*,)?memory(?:,[^:]*)?:(.*)$/m.exec(groups)?.[1];
  const v2 = /^0::(.*)$/m.exec(groups)?.[1];
  const rooms: (number | undefined)[] = [];
  if (v1 !== undefined) {
    for (const path of upwards(v1)) {
      const folder = join("/sys/fs/cgroup/memory", path);
      const limit = field(join(folder, "memory.limit_in_bytes"), /^(\d+)/);
      const usage = field(join(folder, "memory.usage_in_bytes"), /^(\d+)/);
      const files = field(join(folder, "memory.stat"), /^total_cache (\d+)/m) ?? 0;
      const shared = field(join(folder, "memory.stat"), /^total_shmem (\d+)/m) ?? 0;
      rooms.push(room(limit, usage, files - shared));
    }
  } else if (v2 !== undefined) {
    for (const path of upwards(v2)) {
      const folder = join("/sys/fs/cgroup", path);
      const limit = field(join(folder, "memory.max"), /^(\d+)/);
      const usage = field(join(folder, "memory.current"), /^(\d+)/);
      const files = field(join(folder, "memory.stat"), /^file (\d+)/m) ?? 0;
      const shared = field(join(folder, "memory.stat"), /^shmem (\d+)/m) ?? 0;
      rooms.push(room(limit, usage, files - shared));
    }
  }
  return rooms.filter((bytes) => bytes !== undefined);
}

/** The page cache in a group makes room when memory is asked for. */
function room(limit: number | undefined, usage: number | undefined, pageCache: number): number | undefined {
  if (limit === undefined || usage === undefined) return undefined;
  return Math.max(0, limit - usage + pageCache);
}

/** A path and those above it. */
function upwards(path: string): string[] {
  const parts = path.split("/").filter((part) => part !== "");
  return [...parts.keys(), parts.length].map((count) => parts.slice(0, count).join("/"));
}

function field(path: string, pattern: RegExp): number | undefined {
  const found = pattern.exec(read(path) ?? "")?.[1];
  return found === undefined ? undefined : Number(found);
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
