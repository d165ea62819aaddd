// exp as the library computes it (native/shared/math.hpp): the same additions and multiplications in the
// same order, so that the page gives the same bits. Math.exp is allowed to differ.
"use strict";

const ROUNDER = 6755399441055744; // 1.5 · 2^52: adding it rounds to an integer
const LN2_HIGH = 0.6931471803691238;
const LN2_LOW = 1.9082149292705877e-10;
const INVERSE_LN2 = 1.4426950408889634;

const bits = new DataView(new ArrayBuffer(8));

// 2^n for an integer n in [-1022, 1023].
function powerOfTwo(n) {
  bits.setUint32(0, (n + 1023) << 20);
  bits.setUint32(4, 0);
  return bits.getFloat64(0);
}

function expTail(r) {
  const r2 = r * r;
  const r4 = r2 * r2;
  const p01 = 0.5000000000000001 + r * 0.16666666666666669;
  const p23 = 0.04166666666662399 + r * 0.008333333333330051;
  const p45 = 0.0013888888917281794 + r * 0.00019841269863105968;
  const p67 = 2.480152119021773e-5 + r * 2.7557268378684192e-6;
  const p89 = 2.7620138719733994e-7 + r * 2.5100424157005067e-8;
  return p01 + r2 * p23 + r4 * (p45 + r2 * p67 + r4 * p89);
}

function exp(x) {
  x = 710 < x ? 710 : x;
  x = -746 > x ? -746 : x;
  const n = x * INVERSE_LN2 + ROUNDER - ROUNDER;
  const r = x - n * LN2_HIGH - n * LN2_LOW;
  const fraction = 1 + (r + r * r * expTail(r));
  const half = 0.5 * n + ROUNDER - ROUNDER;
  return fraction * powerOfTwo(half) * powerOfTwo(n - half);
}

function sigmoid(x) {
  return 1 / (1 + exp(-x));
}

function softmax(scores) {
  let largest = -Infinity;
  for (const score of scores) largest = largest < score ? score : largest;
  const powers = scores.map((score) => exp(score - largest));
  let sum = 0;
  for (const power of powers) sum += power;
  return powers.map((power) => power / sum);
}

// The sum of a row of numbers in the order in which NumPy adds them up: eight at a time.
function sumOf(values, begin = 0, n = values.length) {
  if (n < 8) {
    let sum = 0;
    for (let i = 0; i < n; ++i) sum += values[begin + i];
    return sum;
  }
  if (n > 128) {
    const half = Math.floor(n / 2) - (Math.floor(n / 2) % 8);
    return sumOf(values, begin, half) + sumOf(values, begin + half, n - half);
  }
  const part = values.slice(begin, begin + 8);
  let i = 8;
  for (; i < n - (n % 8); i += 8) for (let j = 0; j < 8; ++j) part[j] += values[begin + i + j];
  let sum = part[0] + part[1] + (part[2] + part[3]) + (part[4] + part[5] + (part[6] + part[7]));
  for (; i < n; ++i) sum += values[begin + i];
  return sum;
}

// A broken line through (x, y), as numpy.interp has it; x increases.
function interpolate(at, x, y) {
  const last = x.length - 1;
  if (at < x[0]) return y[0];
  if (at >= x[last]) return y[last];
  let low = 0;
  for (let high = last; high - low > 1; ) {
    const middle = (low + high) >> 1;
    if (x[middle] <= at) low = middle;
    else high = middle;
  }
  if (at === x[low]) return y[low];
  const slope = (y[low + 1] - y[low]) / (x[low + 1] - x[low]);
  return slope * (at - x[low]) + y[low];
}
