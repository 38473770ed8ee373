// Several questions in one report (Agreement), and sets of options (Padded).
import { PrivacyError, WireError } from "./errors.js";
import { largest, Ratio, TOTAL } from "./exact.js";
import { accumulate, countUpTo, Mechanism } from "./mechanism.js";
import { BitVector, twoLevels, unevenness } from "./oracles.js";

/** @typedef {import("./entropy.js").Words} Words */
/** @typedef {import("./wire.js").Fields} Fields */

/** How many bits are one. @param {number} bits */
const ones = (bits) => bits.toString(2).replaceAll("0", "").length;

/** One symbol for each of some questions; with probability hit / 2^48 at least `threshold` of them are the true ones. */
export class Agreement extends Mechanism {
  /** The reports that agree too little, and enough: which questions agree (bits), and where each pattern starts. @type {[bits: number[], starts: number[]][] | undefined} */
  #patterns;

  /** @param {Fields} fields */
  constructor(fields) {
    super(fields);
    this.sizes = fields.integers("sizes", 2, 2 ** 16);
    this.threshold = fields.integer("threshold", 1, 16);
    this.hit = fields.integer("hit", 1, TOTAL - 1);
    this.size = this.sizes.length > 16 ? 0 : this.sizes.reduce((product, size) => product * size, 1);
    if (this.sizes.length < 1 || !(this.size > 0 && this.size <= 2 ** 16) || this.threshold > this.sizes.length) {
      throw new WireError("sizes must be 1 to 16 numbers whose product is at most 2^16, and threshold at most their number");
    }
    this.alphabet = this.size;
    const agreeing = this.sizes.reduce((ways, size) => [...ways, 0].map((n, i) => n * (size - 1) + (ways[i - 1] ?? 0)), [1]);
    this.inside = agreeing.slice(this.threshold).reduce((sum, n) => sum + n, 0);
    this.outside = this.size - this.inside;
    this.certify(twoLevels(this.hit, this.inside, this.outside, unevenness(this.inside, this.outside)));
  }

  #listed() {
    const all = Array.from({ length: 2 ** this.sizes.length }, (_, i) => 2 ** this.sizes.length - 1 - i);
    return [false, true].map((isEnough) => {
      const bits = all.filter((one) => ones(one) >= this.threshold === isEnough);
      const counts = bits.map((one) => this.sizes.reduce((count, size, j) => count * ((one >> j) & 1 || size - 1), 1));
      return /** @type {[number[], number[]]} */ ([bits, [0, ...accumulate(counts)].slice(0, -1)]);
    });
  }

  /** @param {number} x @param {Words} words */
  sample(x, words) {
    const isEnough = words.top(0) < this.hit;
    const [patterns, starts] = (this.#patterns ??= this.#listed())[Number(isEnough)];
    const index = words.below(1, isEnough ? this.inside : this.outside);
    const place = countUpTo(starts, index) - 1;
    let [rest, report, scale] = [index - starts[place], 0, this.size];
    this.sizes.forEach((size, j) => {
      scale /= size;
      let symbol = Math.floor(x / scale) % size;
      if (!((patterns[place] >> j) & 1)) {
        symbol = (symbol + (rest % (size - 1)) + 1) % size;
        rest = Math.floor(rest / (size - 1));
      }
      report += symbol * scale;
    });
    return report;
  }
}

/** How many sets of k items there are. @param {number} n @param {number} k */
function choose(n, k) {
  let ways = 1n;
  for (let i = 1; i <= k; i++) ways = (ways * BigInt(n - k + i)) / BigInt(i);
  return ways;
}

/** `count` of 0..size-1 by Floyd's algorithm, with the words from `start` on. @param {Words} words @param {number} start @param {number} size @param {number} count */
function floyd(words, start, size, count) {
  const chosen = new Set();
  for (let i = 0; i < count; i++) {
    const last = size - count + i;
    const one = words.below(start + i, last + 1);
    chosen.add(chosen.has(one) ? last : one);
  }
  return chosen;
}

/** A set of k items: options and dummies. The ticks, filled up with dummies to `most` items, are held; hits / 2^48 says how many of them are in the report. */
export class Padded extends BitVector {
  /** @param {Fields} fields */
  constructor(fields) {
    super(fields);
    this.options = fields.integer("options", 2, 48);
    this.most = fields.integer("most", 1, this.options);
    this.items = this.options + this.most;
    this.k = fields.integer("k", 1, this.items - 1);
    this.hits = fields.integers("hits", 0, TOTAL);
    this.size = 2 ** this.options;
    this.least = Math.max(0, this.k - this.options);
    this.wordsPerReport = 1 + this.k + this.most;
    const overlaps = Math.min(this.most, this.k) - this.least + 1;
    if (this.items > 64 || this.hits.length !== overlaps || this.hits.reduce((sum, hit) => sum + hit, 0) !== TOTAL) {
      throw new WireError("options and most must be at most 64 together, and hits must sum to 2^48, one for each overlap");
    }
    this.ends = accumulate([...this.hits].reverse());
    const held = this.hits.reduce((sum, hit, i) => sum + BigInt(hit) * BigInt(i + this.least), 0n);
    if (held * BigInt(this.options) <= (BigInt(this.k) * BigInt(TOTAL) - held) * BigInt(this.most)) {
      throw new WireError("p must be above q, or the reports carry no information");
    }
    if (this.hits.some((hit) => hit < 1)) throw new PrivacyError("every report must have a weight of at least 1 for every input", "unprotected");
    this.certify(this.#ratio());
  }

  /** The ratio of the likeliest to the least likely overlap, and how uneven the draws among items may be. */
  #ratio() {
    const ways = this.hits.map((_, i) => choose(this.most, i + this.least) * choose(this.options, this.k - i - this.least));
    const all = ways.reduce((product, way) => product * way, 1n);
    const laws = this.hits.map((hit, i) => BigInt(hit) * (all / ways[i]));
    const pairs = laws.flatMap((high) => laws.map((low) => /** @type {[bigint, bigint]} */ ([high, low])));
    return largest(pairs).times(new Ratio(2n ** 64n, 2n ** 64n - BigInt(2 * this.k * this.options)));
  }

  get reportBytes() {
    return Math.ceil(this.items / 8);
  }

  /** @param {number} x @param {Words} words */
  sample(x, words) {
    let ticked = Array.from({ length: this.options }, (_, v) => v).filter((v) => Math.floor(x / 2 ** v) % 2);
    if (ticked.length > this.most) {
      const kept = floyd(words, 1 + this.k, ticked.length, this.most);
      ticked = ticked.filter((_, rank) => kept.has(rank));
    }
    const isHeld = (/** @type {number} */ v) => (v < this.options ? ticked.includes(v) : v - this.options < this.most - ticked.length);
    const inside = this.least + this.hits.length - 1 - countUpTo(this.ends, words.top(0));
    const others = floyd(words, 1, this.options, this.k - inside);
    const own = floyd(words, 1 + this.k - inside, this.most, inside);
    const report = new Uint8Array(this.reportBytes);
    let [rank, ownRank] = [0, 0];
    for (let v = 0; v < this.items; v++) {
      if (isHeld(v) ? own.has(ownRank++) : others.has(rank++)) report[v >> 3] |= 1 << v % 8;
    }
    return report;
  }
}

Object.assign(Mechanism.kinds, { agreement: Agreement, padded: Padded });
