/**
 * xoshiro128** 1.1 by David Blackman and Sebastiano Vigna (https://prng.di.unimi.it/xoshiro128starstar.c, public
 * domain): a period of 2^128 - 1 with four words of state. Same state, same sequence, on every machine.
 */

/** Random numbers in [0, 1), 53 bits each. */
export type Random = () => number;

/** The generator itself: 32 random bits at each call. `state` are four 32-bit words, not all zero; it is changed. */
export function xoshiro128(state: Uint32Array): () => number {
  return () => {
    const scrambled = Math.imul(rotateLeft(Math.imul(state[1], 5), 7), 9) >>> 0;
    const shifted = state[1] << 9;
    state[2] ^= state[0];
    state[3] ^= state[1];
    state[1] ^= state[2];
    state[0] ^= state[3];
    state[2] ^= shifted;
    state[3] = rotateLeft(state[3], 11);
    return scrambled;
  };
}

/** @param seed an integer from 0 to 2^53 - 1; neighbouring seeds give unrelated sequences */
export function createRandom(seed: number): Random {
  return randomFrom(expandSeed(seed));
}

/** @param state see `xoshiro128`; of a copy the same numbers come */
export function randomFrom(state: Uint32Array): Random {
  const next = xoshiro128(state);
  return () => ((next() >>> 5) * 2 ** 26 + (next() >>> 6)) / 2 ** 53;
}

/** Four words of state from a seed: the finaliser of MurmurHash3 (Austin Appleby, public domain) over a counter. */
export function expandSeed(seed: number): Uint32Array {
  let counter = (seed ^ Math.imul(Math.floor(seed / 2 ** 32), 0x85ebca6b)) | 0;
  return Uint32Array.from({ length: 4 }, () => {
    counter = (counter + 0x9e3779b9) | 0;
    let word = counter;
    word = Math.imul(word ^ (word >>> 16), 0x85ebca6b);
    word = Math.imul(word ^ (word >>> 13), 0xc2b2ae35);
    return word ^ (word >>> 16);
  });
}

function rotateLeft(word: number, bits: number): number {
  return (word << bits) | (word >>> (32 - bits));
}
