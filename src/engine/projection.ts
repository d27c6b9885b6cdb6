/** Points in a plane. */
export interface Projection {
  /** (points, 2), around the mean of all */
  readonly points: readonly (readonly [number, number])[];
  /** Share of all variance that each of the two axes shows. */
  readonly shares: readonly [number, number];
}

const MOST_STEPS = 1000;
const SETTLED = 1e-14;

/**
 * Principal components: the plane in which the points differ most (Pearson 1901). Of few points in many dimensions the
 * matrix of their inner products is the small one, and its eigenvectors are the coordinates; power iteration finds the
 * two largest. Signs are fixed by the coordinate of largest absolute value, which becomes positive.
 *
 * @param vectors (points, width)
 */
export function principalPlane(vectors: readonly ArrayLike<number>[]): Projection {
  const products = centeredProducts(vectors);
  const total = products.reduce((sum, row, i) => sum + row[i], 0);
  const axes = [0, 1].map(() => {
    const { vector, value } = largestEigenvector(products);
    // Without it the second one is the largest.
    for (const [i, row] of products.entries())
      for (let j = 0; j < row.length; j++) row[j] -= value * vector[i] * vector[j];
    const length = Math.sqrt(Math.max(0, value));
    return { coordinates: vector.map((x) => x * length), share: total > 0 ? Math.max(0, value / total) : 0 };
  });
  return {
    points: vectors.map((_, i) => [axes[0].coordinates[i], axes[1].coordinates[i]]),
    shares: [axes[0].share, axes[1].share],
  };
}

/** Inner products of the points' distances from their mean: (points, points). */
function centeredProducts(vectors: readonly ArrayLike<number>[]): Float64Array[] {
  const count = vectors.length;
  const width = vectors[0]?.length ?? 0;
  const centered = vectors.map((vector) => Float64Array.from(vector));
  for (let i = 0; i < width; i++) {
    const mean = centered.reduce((sum, vector) => sum + vector[i], 0) / count;
    for (const vector of centered) vector[i] -= mean;
  }
  return centered.map((a) =>
    Float64Array.from(centered, (b) => {
      let sum = 0;
      for (let i = 0; i < width; i++) sum += a[i] * b[i];
      return sum;
    }),
  );
}

function largestEigenvector(matrix: readonly Float64Array[]): { vector: Float64Array; value: number } {
  const scale = Math.max(...matrix.map((row, i) => Math.abs(row[i])));
  // A start that no eigenvector is likely to be at right angles to, and the same each time.
  let vector = unit(Float64Array.from(matrix, (_, i) => Math.cos(1 + 2.3 * i)));
  let value = 0;
  for (let step = 0; step < MOST_STEPS; step++) {
    const next = Float64Array.from(matrix, (row) => row.reduce((sum, x, j) => sum + x * vector[j], 0));
    const before = value;
    value = next.reduce((sum, x, j) => sum + x * vector[j], 0);
    if (!(value > SETTLED * scale)) return { vector: new Float64Array(matrix.length), value: 0 };
    vector = unit(next);
    if (Math.abs(value - before) <= SETTLED * value) break;
  }
  const largest = vector.reduce((best, x) => (Math.abs(x) > Math.abs(best) + 1e-9 ? x : best), 0);
  return { vector: largest < 0 ? vector.map((x) => -x) : vector, value };
}

function unit(vector: Float64Array): Float64Array {
  const length = Math.hypot(...vector);
  return length > 0 ? vector.map((x) => x / length) : vector;
}
