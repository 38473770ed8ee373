// Exact arithmetic for the guarantee: rational numbers, and e^epsilon from below. Nothing here is rounded, except
// in the direction that is named.

/** Every probability of a sampler is a whole number of 2^-48: exact in a JavaScript number, sums included. */
export const TOTAL = 2 ** 48;
const DIGITS = 256n;

/** A positive rational number: the largest P(report | x) / P(report | x'), or a product of such. */
export class Ratio {
  /** @param {bigint | number} n @param {bigint | number} d */
  constructor(n, d = 1n) {
    let [a, b] = [BigInt(n), BigInt(d)];
    while (b) [a, b] = [b, a % b];
    this.n = BigInt(n) / a;
    this.d = BigInt(d) / a;
  }

  /** @param {string} text such as "3/2" */
  static parse(text) {
    const [n, d] = text.split("/");
    return new Ratio(BigInt(n), BigInt(d));
  }

  /** @param {Ratio} other */
  times(other) {
    return new Ratio(this.n * other.n, this.d * other.d);
  }

  /** A number as it is written, not as the machine holds it: 0.1 is one tenth. @param {number} number */
  static decimal(number) {
    const [mantissa, power] = number.toExponential().split("e");
    const [whole, part = ""] = mantissa.split(".");
    const shift = Number(power) - part.length;
    const tens = 10n ** BigInt(Math.abs(shift));
    return shift < 0 ? new Ratio(BigInt(whole + part), tens) : new Ratio(BigInt(whole + part) * tens);
  }

  /** Whether ratio <= e^epsilon, never true by rounding. @param {number | Ratio} epsilon */
  within(epsilon) {
    if (epsilon instanceof Ratio) return this.n << DIGITS <= expBelow(epsilon.n, epsilon.d) * this.d;
    if (typeof epsilon !== "number" || !(epsilon >= 0)) return false;
    return epsilon === Infinity || this.n << DIGITS <= expBelow(...exactly(epsilon)) * this.d;
  }

  /** ln(ratio), rounded up to a number; for ratios of at least 1. */
  get epsilon() {
    if (this.n <= this.d) return 0;
    let guess = Math.LN2 * 4 * (this.n.toString(16).length - this.d.toString(16).length);
    for (let round = 0; round < 3; round++) {
      const other = expBelow(...exactly(guess)) * this.d;
      guess += Math.log1p(Number((((this.n << DIGITS) - other) << DIGITS) / other) / 2 ** Number(DIGITS));
    }
    while (!this.within(guess)) guess = neighbour(guess, 1n);
    while (this.within(neighbour(guess, -1n))) guess = neighbour(guess, -1n);
    return guess;
  }

  toString() {
    return `${this.n}/${this.d}`;
  }
}

/**
 * The largest of some ratios max/min.
 * @param {Iterable<[high: number | bigint, low: number | bigint]>} pairs
 */
export function largest(pairs) {
  let [n, d] = [1n, 1n];
  for (const [high, low] of pairs) {
    const [a, b] = [BigInt(high), BigInt(low)];
    if (a * d > n * b) [n, d] = [a, b];
  }
  return new Ratio(n, d);
}

/** A number as the machine holds it, as a fraction. @param {number} x @returns {[n: bigint, d: bigint]} */
function exactly(x) {
  let [whole, shift] = [x, 0n];
  for (; !Number.isInteger(whole); shift++) whole *= 2; // exact
  return [BigInt(whole), 1n << shift];
}

/**
 * A number not above 2^256 e^(n/d), closer than 2^-200 relatively: the sum of (n/d)^i / i!, every term rounded down.
 * @param {bigint} n not negative
 * @param {bigint} d
 */
function expBelow(n, d) {
  let [sum, term] = [0n, 1n << DIGITS];
  for (let i = 1n; term; i++) {
    sum += term;
    term = (term * n) / (i * d);
  }
  return sum;
}

/** The next number up or down. @param {number} x positive @param {bigint} step */
function neighbour(x, step) {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, x);
  view.setBigInt64(0, view.getBigInt64(0) + step);
  return view.getFloat64(0);
}
