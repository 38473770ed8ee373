// Frequency oracles: a report stands for a set of categories. Their law is not listed; its largest ratio is a formula.
import { sha256, utf8, Words } from "./entropy.js";
import { DomainError, PrivacyError, WireError } from "./errors.js";
import { Ratio, TOTAL } from "./exact.js";
import { ratioOf } from "./channels.js";
import { Mechanism } from "./mechanism.js";
import { Fields } from "./wire.js";

const WORD = 2n ** 64n;
/** A field of 2^bits elements: its irreducible polynomial, and the shifts and odd factors of a bijection. */
const HASHES = /** @type {Record<number, number[]>} */ ({
  4: [0x13, 2, 5, 1, 13, 3],
  16: [0x1002b, 8, 0x88b5, 7, 0xdb2d, 9],
  24: [0x100001b, 12, 0xebca6b, 11, 0xb2ae35, 13],
});

/** @param {number} n */
const isPowerOfTwo = (n) => n > 0 && (n & (n - 1)) === 0;

/** @param {number} n */
function parity(n) {
  let odd = 0;
  for (; n; n &= n - 1) odd ^= 1;
  return odd;
}

/**
 * The bucket of a value: mix(a value + b) over the field, (a, b) being the seed.
 * @param {number} value
 * @param {number} seed
 * @param {number} bits
 * @param {number} buckets
 */
function bucketOf(value, seed, bits, buckets) {
  const [polynomial, first, one, second, two, third] = HASHES[bits];
  const [order, mask] = [2 ** bits, 2 ** bits - 1];
  let [a, t] = [Math.floor(seed / order), seed % order];
  for (; value; value >>= 1) {
    if (value & 1) t ^= a;
    a <<= 1;
    if (a > mask) a ^= polynomial;
  }
  t = Math.imul(t ^ (t >> first), one) & mask;
  t = Math.imul(t ^ (t >> second), two) & mask;
  return Math.floor(((t ^ (t >> third)) * buckets) / order);
}

/** A report with one bit per category, packed: bit v % 8 of byte v >> 3. */
export class BitVector extends Mechanism {
  get reportBytes() {
    return Math.ceil(this.size / 8);
  }
}

/** Independent bits: the true category's is one with probability hit / 2^48, every other with ones / 2^digits. */
export class Unary extends BitVector {
  /** @param {Fields} fields */
  constructor(fields) {
    super(fields);
    this.size = fields.integer("size", 2, 2 ** 24);
    this.hit = fields.integer("hit", 0, TOTAL);
    this.ones = fields.integer("ones", 0, TOTAL);
    this.digits = fields.integer("digits", 1, 48);
    const one = 2 ** this.digits;
    if (!(this.hit > 0 && this.hit < TOTAL && this.ones > 0 && this.ones < one)) {
      throw new PrivacyError("every bit must be randomised: none may have probability 0 or 1", "unprotected");
    }
    const [p, q, notP, notQ] = [this.hit, this.ones, TOTAL - this.hit, one - this.ones].map(BigInt);
    if (p * BigInt(one) <= q * BigInt(TOTAL)) throw new WireError("p must be above q, or the reports carry no information");
    this.wordsPerReport = 1 + Math.ceil(this.size / 64) * this.digits;
    this.certify(new Ratio(p * notQ, q * notP));
  }

  /**
   * 64 bits at a time, through the digits of q from the lowest: OR a random word where it is one, AND where it is zero.
   * @param {number} x
   * @param {Words} words
   */
  sample(x, words) {
    const report = new Uint8Array(this.reportBytes).map((_, byte) => {
      const start = 8 * (1 + (byte >> 3) * this.digits) + (byte % 8);
      let [bits, ones] = [0, this.ones];
      for (let k = 0; k < this.digits; k++, ones = Math.floor(ones / 2)) {
        const word = words.bytes[start + 8 * k];
        bits = ones % 2 ? bits | word : bits & word;
      }
      return bits;
    });
    report[report.length - 1] &= 255 >> (8 * report.length - this.size);
    const mask = 1 << x % 8;
    report[x >> 3] = words.top(0) < this.hit ? report[x >> 3] | mask : report[x >> 3] & ~mask;
    return report;
  }
}

/**
 * The ratio of reports of two weights: probability hit / 2^48 shared by `inside` of them, the rest by `outside`; evenly,
 * up to the factor `uneven` that picking one of so many by a 64-bit word may add.
 * @param {number} hit
 * @param {number} inside
 * @param {number} outside
 * @param {[bigint, bigint]} uneven
 */
export function twoLevels(hit, inside, outside, uneven) {
  const [high, low] = [BigInt(hit) * BigInt(outside), BigInt(TOTAL - hit) * BigInt(inside)];
  if (high <= low) throw new WireError("the truth must be the likeliest report");
  return new Ratio(high * uneven[0], low * uneven[1]);
}

/** How much likelier one number below a bound can be than another, at the worst of some bounds. @param {number[]} bounds @returns {[bigint, bigint]} */
export function unevenness(...bounds) {
  const worst = BigInt(Math.max(0, ...bounds.filter((bound) => !isPowerOfTwo(bound)))); // a power of two divides 2^64
  return [WORD + worst, WORD - worst];
}

/** A set of exactly k categories: it holds the true one with probability hit / 2^48, the others by Floyd's algorithm. */
export class Subset extends BitVector {
  /** @param {Fields} fields */
  constructor(fields) {
    super(fields);
    this.size = fields.integer("size", 2, 2 ** 16);
    this.k = fields.integer("k", 1, this.size - 1);
    this.hit = fields.integer("hit", 1, TOTAL - 1);
    this.wordsPerReport = 1 + this.k;
    this.certify(twoLevels(this.hit, this.k, this.size - this.k, [WORD, WORD - BigInt(2 * this.k * (this.size - 1))]));
  }

  /** @param {number} x @param {Words} words */
  sample(x, words) {
    const report = new Uint8Array(this.reportBytes);
    const isIn = words.top(0) < this.hit;
    const drawn = this.k - Number(isIn);
    for (let i = 1; i <= drawn; i++) {
      const last = this.size - 1 - drawn + i - 1;
      const [one, other] = [words.below(i, last + 1), last].map((v) => v + Number(v >= x)); // all categories but x
      const v = report[one >> 3] & (1 << one % 8) ? other : one;
      report[v >> 3] |= 1 << v % 8;
    }
    if (isIn) report[x >> 3] |= 1 << x % 8;
    return report;
  }
}

/** Columns of Hadamard matrices, in blocks: one where the category's row is -1 with probability hit / 2^48. */
export class Hadamard extends Mechanism {
  /** @param {Fields} fields */
  constructor(fields) {
    super(fields);
    this.size = fields.integer("size", 2, 2 ** 24);
    this.width = fields.integer("width", 2, 2 ** 26);
    this.first = fields.integer("first", 0, 1);
    this.hit = fields.integer("hit", 1, TOTAL - 1);
    if (!isPowerOfTwo(this.width)) throw new WireError(`width must be a power of two, not ${this.width}`);
    this.cells = this.width - this.first;
    this.half = this.width / 2;
    this.alphabet = Math.ceil(this.size / (this.width - 1)) * this.cells;
    this.outside = this.alphabet - this.half;
    this.certify(twoLevels(this.hit, this.half, this.outside, unevenness(this.half, this.outside)));
  }

  /** @param {number} x @param {Words} words */
  sample(x, words) {
    const isIn = words.top(0) < this.hit;
    const block = Math.floor(x / (this.width - 1));
    const row = 1 + (x % (this.width - 1));
    const rest = this.cells - this.half;
    let index = words.below(1, isIn ? this.half : this.outside);
    if (!isIn && index >= rest) {
      const other = Math.floor((index - rest) / this.cells);
      return (other + Number(other >= block)) * this.cells + ((index - rest) % this.cells);
    }
    // The index-th column of the wanted parity: the lowest bit that the row has is left to settle the parity.
    if (!isIn) index += this.first;
    const bit = row & -row;
    const lower = index & (bit - 1);
    let place = ((index ^ lower) << 1) | lower;
    if (parity(place & row) !== Number(isIn)) place |= bit;
    return block * this.cells + place - this.first;
  }
}

/** Points of a projective space over a prime field: one on the category's hyperplane with probability hit / 2^48. */
export class Projective extends Mechanism {
  /** @param {Fields} fields */
  constructor(fields) {
    super(fields);
    this.size = fields.integer("size", 2, 2 ** 24);
    this.field = fields.integer("field", 2, 255);
    this.dimension = fields.integer("dimension", 2, 25);
    this.hit = fields.integer("hit", 1, TOTAL - 1);
    const points = (/** @type {number} */ dimension) => (this.field ** dimension - 1) / (this.field - 1);
    this.alphabet = points(this.dimension);
    this.on = points(this.dimension - 1);
    this.off = this.alphabet - this.on;
    for (let i = 2; i * i <= this.field; i++) {
      if (this.field % i === 0) throw new WireError(`field must be a prime below 256, not ${this.field}`);
    }
    if (this.alphabet > 2 ** 25 || this.alphabet < this.size) {
      throw new WireError(`the space must have at least ${this.size} and at most 2^25 points, not ${this.alphabet}`);
    }
    this.certify(twoLevels(this.hit, this.on, this.off, unevenness(this.on, this.off)));
  }

  /** The vector of a point: its first non-zero coordinate is 1. @param {number} number @param {number} length */
  #coordinates(number, length) {
    const digits = [];
    for (; number; number = Math.floor((number - 1) / this.field)) digits.unshift((number - 1) % this.field);
    return [...Array(length - 1 - digits.length).fill(0), 1, ...digits];
  }

  /** @param {number} x @param {Words} words */
  sample(x, words) {
    const [q, t] = [this.field, this.dimension];
    const isOn = words.top(0) < this.hit;
    const index = words.below(1, isOn ? this.on : this.off);
    const point = this.#coordinates(x, t);
    const lead = point.indexOf(1);
    const y = isOn
      ? this.#coordinates(index, t - 1)
      : Array.from({ length: t - 1 }, (_, j) => Math.floor(index / q ** (t - 2 - j)) % q);
    y.splice(lead, 0, 0);
    const product = y.reduce((sum, digit, j) => sum + digit * point[j], 0);
    y[lead] = (((Number(!isOn) - product) % q) + q) % q;
    const first = y.findIndex((digit) => digit);
    let scale = 1;
    while ((scale * y[first]) % q !== 1) scale++; // the inverse in the field
    return y.slice(first + 1).reduce((number, digit) => 1 + q * number + ((digit * scale) % q), 0);
  }
}

/** A public row of the Hadamard matrix, and the category's bit in it, told truly with probability high / 2^48. */
export class HadamardBit extends Mechanism {
  isPublic = true;

  /** @param {Fields} fields */
  constructor(fields) {
    super(fields);
    this.size = fields.integer("size", 2, 2 ** 24);
    this.high = fields.integer("high", 1, TOTAL - 1);
    this.levels = (this.size - 1).toString(2).length;
    this.alphabet = 2 ** (this.levels + 1);
    this.certify(ratioOf([[this.high, TOTAL - this.high]]));
  }

  /** @param {number} x @param {Words} words */
  sample(x, words) {
    const row = words.high32(0) >>> (32 - this.levels);
    return 2 * row + (parity(row & x) ^ Number(words.top(1) >= this.high));
  }
}

/** A Hadamard bit of the node that a category is a child of, and of the side it is on. */
export class HaarBit extends HadamardBit {
  /** @param {Fields} fields */
  constructor(fields) {
    super(fields);
    this.alphabet = 2 ** this.levels;
  }

  /** @param {number} x @param {Words} words */
  sample(x, words) {
    const row = (words.high32(0) >>> (32 - this.levels)) >> 1;
    return 2 * row + (parity(row & (x >> 1)) ^ (x & 1) ^ Number(words.top(1) >= this.high));
  }
}

/** A public hash function, and randomised response among its buckets. */
export class Hashing extends Mechanism {
  isPublic = true;

  /** @param {Fields} fields */
  constructor(fields) {
    super(fields);
    this.size = fields.integer("size", 2, 2 ** 24);
    this.bits = fields.integer("bits", 4, 24);
    this.buckets = fields.integer("buckets", 2, 2 ** 15);
    this.low = fields.integer("low", 1, TOTAL);
    if (!(this.bits in HASHES) || Math.max(this.size, this.buckets) > 2 ** this.bits) {
      throw new WireError(`bits must be 4, 16 or 24, enough for the size and the buckets, not ${this.bits}`);
    }
    this.alphabet = 2n ** BigInt(2 * this.bits) * BigInt(this.buckets);
    this.high = TOTAL - (this.buckets - 1) * this.low;
    this.certify(ratioOf([[this.high, this.low]]));
  }

  /** @param {number} x @param {Words} words */
  sample(x, words) {
    const seed = Math.floor(words.top(0) / 2 ** (48 - 2 * this.bits));
    let bucket = bucketOf(x, seed, this.bits, this.buckets);
    const u = words.top(1);
    if (u >= this.high) {
      const cell = Math.floor((u - this.high) / this.low);
      bucket = cell + Number(cell >= bucket);
    }
    return BigInt(seed) * BigInt(this.buckets) + BigInt(bucket);
  }
}

/** A public hash function, and a unary encoding of the bucket: the function's number, then the bits. */
export class Sketch extends Mechanism {
  isPublic = true;

  /** @param {Fields} fields */
  constructor(fields) {
    super(fields);
    const [hit, ones] = ["hit", "ones"].map((key) => fields.integer(key, 0, TOTAL));
    const [digits, size] = [fields.integer("digits", 1, 48), fields.integer("width", 2, 2 ** 15)];
    const { name, epsilon } = fields.document;
    this.unary = new Unary(new Fields({ kind: "unary", name, epsilon, size, hit, ones, digits }));
    this.size = fields.integer("size", 2, 2 ** 24);
    this.hashes = fields.integer("hashes", 1, 2 ** 16);
    this.seed = fields.integer("seed", 0, Number.MAX_SAFE_INTEGER);
    if (![this.hashes, size].every(isPowerOfTwo)) throw new WireError("hashes and width must be powers of two");
    this.bits = this.size <= 2 ** 16 ? 16 : 24;
    this.wordsPerReport = 1 + this.unary.wordsPerReport;
    this.certify(this.unary.certificate.ratio);
  }

  get #functionBytes() {
    return Math.ceil(Math.log2(this.hashes) / 8);
  }

  get reportBytes() {
    return this.#functionBytes + this.unary.reportBytes;
  }

  /** @param {number} x @param {Words} words */
  async sample(x, words) {
    const number = Math.floor(words.high32(0) / (2 ** 32 / this.hashes));
    const digest = new Words(await sha256(utf8(`discreet sketch ${this.seed} ${number}`)));
    const seed = digest.low32(0) + (this.bits === 24 ? (digest.high32(0) % 65536) * 2 ** 32 : 0);
    const bucket = bucketOf(x, seed, this.bits, this.unary.size);
    const start = Array.from({ length: this.#functionBytes }, (_, i) => number >> (8 * i));
    return Uint8Array.from([...start, ...this.unary.sample(bucket, new Words(words.bytes.subarray(8)))]);
  }
}

/** An oracle whose input may lie between two categories: a word rounds it to one of them, so its certificate is the oracle's. */
export class Rounded extends Mechanism {
  /** @param {Fields} fields */
  constructor(fields) {
    super(fields);
    const documents = fields.list("parts");
    const wrong = new WireError("parts must be one oracle: subset selection, unary or randomised response");
    if (documents.length !== 1 || !["subset", "unary", "window"].includes(documents[0]?.kind)) throw wrong;
    this.oracle = Mechanism.fromDocument(documents[0]);
    const { width = 1 } = /** @type {any} */ (this.oracle);
    if (this.oracle.numeric || width !== 1) throw wrong;
    this.size = this.oracle.size;
    this.alphabet = this.oracle.alphabet;
    this.wordsPerReport = 1 + this.oracle.wordsPerReport;
    this.certify(this.oracle.certificate.ratio);
  }

  get image() {
    return /** @type {const} */ ("places");
  }

  get reportBytes() {
    return this.oracle.reportBytes;
  }

  /** @param {number} x */
  check(x) {
    if (!(typeof x === "number" && x >= 0 && x <= this.size - 1)) throw new DomainError(`input of ${this.name} must be a number from 0 to ${this.size - 1}`);
    return x;
  }

  /** @param {number} x @param {Words} words */
  sample(x, words) {
    const left = Math.min(Math.floor(x), this.size - 2);
    const cell = left + Number(words.top(0) < Math.floor((x - left) * TOTAL + 0.5));
    return this.oracle.sample(cell, new Words(words.bytes.subarray(8)));
  }
}

Object.assign(Mechanism.kinds, {
  rounded: Rounded,
  unary: Unary,
  subset: Subset,
  hadamard: Hadamard,
  projective: Projective,
  "hadamard-bit": HadamardBit,
  "haar-bit": HaarBit,
  hashing: Hashing,
  sketch: Sketch,
});
