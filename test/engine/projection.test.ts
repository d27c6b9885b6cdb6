import { expect, it } from "vitest";
import { principalPlane } from "../../src/engine/projection.ts";
import { randomFloats, seeded } from "../random.ts";

it("finds the plane that points lie in, and keeps their distances", () => {
  // (x, y) in the plane of two directions at right angles, far from the origin
  const flat = [
    [5, 0],
    [-5, 0],
    [1, 2],
    [-1, -2],
    [3, -1],
    [-3, 1],
  ];
  const first = [0.6, 0, 0.8, 0];
  const second = [0, 1, 0, 0];
  const points = flat.map(([x, y]) => first.map((_, i) => 100 + x * first[i] + y * second[i]));
  const { points: found, shares } = principalPlane(points);
  expect(shares[0] + shares[1]).toBeCloseTo(1, 10);
  expect(shares[0]).toBeGreaterThan(shares[1]);
  for (let a = 0; a < flat.length; a++)
    for (let b = 0; b < a; b++) {
      const want = Math.hypot(flat[a][0] - flat[b][0], flat[a][1] - flat[b][1]);
      expect(Math.hypot(found[a][0] - found[b][0], found[a][1] - found[b][1])).toBeCloseTo(want, 6);
    }
});

it("shows as much variance as its axes say, and no other plane of the coordinate axes shows more", () => {
  const width = 6;
  const values = randomFloats(20 * width, seeded(3));
  const vectors = Array.from({ length: 20 }, (_, i) => values.subarray(i * width, (i + 1) * width));
  const { points, shares } = principalPlane(vectors);
  const variance = (of: (i: number) => number) => {
    const mean = vectors.reduce((sum, _, i) => sum + of(i), 0) / vectors.length;
    return vectors.reduce((sum, _, i) => sum + (of(i) - mean) ** 2, 0);
  };
  const single = Array.from({ length: width }, (_, column) => variance((i) => vectors[i][column]));
  const total = single.reduce((a, b) => a + b);
  for (const axis of [0, 1]) expect(variance((i) => points[i][axis]) / total).toBeCloseTo(shares[axis], 6);
  const [a, b] = single.sort((x, y) => y - x);
  expect(shares[0] + shares[1]).toBeGreaterThanOrEqual((a + b) / total - 1e-9);
});

it.each([
  ["no points", []],
  ["one", [[1, 2, 3]]],
  [
    "the same twice",
    [
      [1, 2],
      [1, 2],
    ],
  ],
  [
    "a line",
    [
      [0, 0],
      [1, 1],
      [2, 2],
    ],
  ],
])("stays sane with %s", (_, vectors) => {
  const { points, shares } = principalPlane(vectors);
  expect(points).toHaveLength(vectors.length);
  for (const value of [...points.flat(), ...shares]) expect(Number.isFinite(value)).toBe(true);
  expect(shares[1]).toBeCloseTo(0, 10);
});
