// Table, Window, Mixture, Ranged: channels whose law is listed. Every comparison is of whole numbers below 2^53; the
// thresholds and the order of floating-point operations are those of Python, so that the same words give the same report.
import { OUTSIDE } from "./encoders.js";
import { PrivacyError, WireError } from "./errors.js";
import { largest, TOTAL } from "./exact.js";
import { accumulate, countUpTo, Mechanism } from "./mechanism.js";
import { MAX_ENTRIES } from "./wire.js";

/** @typedef {import("./entropy.js").Words} Words */
/** @typedef {import("./wire.js").Fields} Fields */
/** @typedef {[low: number, high: number]} Extremes of the weights that one report has for different inputs */

/** A window over numbers has at most this many reports. */
const LARGEST_LATTICE = 2 ** 16;

/** The largest ratio of two weights in one column. @param {number[][]} columns */
export function ratioOf(columns) {
  return largest(
    columns.map((column) => {
      const [low, high] = extremes(column);
      if (low < 1) throw new PrivacyError("every report must have a weight of at least 1 for every input", "unprotected");
      return [high, low];
    }),
  );
}

/** @param {number[]} weights @returns {Extremes} */
function extremes(weights) {
  return [weights.reduce((a, b) => Math.min(a, b)), weights.reduce((a, b) => Math.max(a, b))];
}

/** Rows of weights at knots; an input between two knots is rounded to one of them, its expectation kept. */
export class Table extends Mechanism {
  numeric = true;

  /** @param {Fields} fields */
  constructor(fields) {
    super(fields);
    const [knots, rows, values] = [fields.reals("knots"), fields.rows("weights", 0, TOTAL), fields.reals("values")];
    this.knots = knots;
    this.alphabet = values.length;
    if (knots.length < 2 || knots[0] !== -1 || knots.at(-1) !== 1 || knots.some((k, i) => i && !(k - knots[i - 1] >= 1 / TOTAL))) {
      throw new WireError("knots must go up from -1 to 1 in steps of at least 2^-48");
    }
    if (rows.length !== knots.length || rows[0].length !== values.length) {
      throw new WireError(`weights have ${rows.length} rows for ${knots.length} knots and ${values.length} values`);
    }
    this.thresholds = rows.map(accumulate);
    if (this.thresholds.some((row) => row.at(-1) !== TOTAL)) {
      throw new WireError("weights of a knot must sum to exactly 2^48");
    }
    this.steps = knots.slice(1).map((k, i) => TOTAL / (k - knots[i]));
    this.columns = values.map((_, j) => extremes(rows.map((row) => row[j])));
    this.certify(ratioOf(this.columns));
  }

  /** @param {number} x @param {Words} words */
  sample(x, words) {
    const left = Math.min(countUpTo(this.knots, x) - 1, this.knots.length - 2);
    const threshold = Math.floor((x - this.knots[left]) * this.steps[left] + 0.5);
    const row = left + Number(words.top(0) < threshold);
    return countUpTo(this.thresholds[row], words.top(1));
  }
}

/** Cells and a window that slides one cell per input position: heavier weights inside, `low` outside. */
export class Window extends Mechanism {
  /** @param {Fields} fields */
  constructor(fields) {
    super(fields);
    const inputs = fields.text("inputs");
    if (inputs !== "interval" && inputs !== "categories") {
      throw new WireError(`inputs must be interval or categories, not '${inputs}'`);
    }
    this.numeric = inputs === "interval";
    this.size = fields.integer("positions", 2, 2 ** 31);
    this.width = fields.integer("width", 1, MAX_ENTRIES);
    const profile = fields.integers("profile", 0, TOTAL);
    this.low = fields.integer("low", 0, TOTAL);
    if (profile.length !== 1 && profile.length !== this.width) {
      throw new WireError(`profile must have 1 weight (flat) or ${this.width}, not ${profile.length}`);
    }
    this.isFlat = profile.every((weight) => weight === profile[0]);
    this.profile = this.isFlat ? [profile[0]] : profile;
    fields.document.profile = this.profile; // one spelling of a flat one, for the id
    this.alphabet = this.size + this.width - 1;
    this.wordsPerReport = this.numeric ? 2 : 1;
    this.thresholds = accumulate(this.profile);
    this.inside = this.isFlat ? this.width * profile[0] : this.thresholds[this.width - 1];
    if (this.alphabet > (this.numeric ? LARGEST_LATTICE : 2 ** 31) || this.inside + (this.size - 1) * this.low !== TOTAL) {
      throw new WireError(`weights must sum to exactly 2^48, and there must be at most ${this.numeric ? "2^16" : "2^31"} reports`);
    }
    const ratio = ratioOf([[...this.profile, this.low]]);
    if (this.numeric && this.inside <= this.width * this.low) throw new WireError(`${this.name} carries no information`);
    this.certify(ratio);
  }

  /** The extremes of each cell over all positions. @returns {Extremes[]} */
  get columns() {
    const least = this.#running((a, b) => a <= b);
    const most = this.#running((a, b) => a >= b);
    return least.map((low, cell) => [low, most[cell]]);
  }

  /** For each cell the weight that comes before all others which the cell has at some position. @param {(a: number, b: number) => boolean} isBefore */
  #running(isBefore) {
    /** @type {number[]} */
    const waiting = []; // places of the profile, each after the next in order: the first is the one wanted
    let start = 0;
    return Array.from({ length: Number(this.alphabet) }, (_, cell) => {
      const [first, last] = [Math.max(0, cell - this.size + 1), Math.min(this.width - 1, cell)];
      const at = (/** @type {number} */ place) => this.profile[this.isFlat ? 0 : place];
      if (cell === last) {
        while (waiting.length > start && isBefore(at(last), at(waiting[waiting.length - 1]))) waiting.pop();
        waiting.push(last);
      }
      while (waiting[start] < first) start++;
      const found = at(waiting[start]);
      return last - first + 1 < this.size && isBefore(this.low, found) ? this.low : found;
    });
  }

  /** @param {number} x @param {Words} words */
  sample(x, words) {
    let position = x;
    if (this.numeric) {
      const last = this.size - 1;
      const exact = (x + 1) * (last / 2);
      const left = Math.min(Math.floor(exact), last - 1);
      position = left + Number(words.top(0) < Math.floor((exact - left) * TOTAL + 0.5));
    }
    const u = words.top(this.wordsPerReport - 1);
    if (u < this.inside) return position + (this.isFlat ? Math.floor(u / this.profile[0]) : countUpTo(this.thresholds, u));
    const cell = Math.floor((u - this.inside) / this.low);
    return cell >= position ? cell + this.width : cell;
  }
}

/** A coin, the 16 low bits of the first word, picks one of two mechanisms; the report says which one it was. */
export class Mixture extends Mechanism {
  numeric = true;

  /** @param {Fields} fields */
  constructor(fields) {
    super(fields);
    this.coin = fields.integer("coin", 1, 65535);
    const [first, second] = partsOf(fields, 2, ["table", "window"]);
    this.parts = [first, second];
    this.alphabet = Number(first.alphabet) + Number(second.alphabet);
    this.certify(largest(this.parts.map((part) => [part.certificate.ratio.n, part.certificate.ratio.d])));
  }

  /** @param {number} x @param {Words} words @returns {number} */
  sample(x, words) {
    const isFirst = words.low32(0) % 65536 < this.coin;
    const report = this.parts[isFirst ? 0 : 1].sample(x, words);
    return Number(report) + (isFirst ? 0 : Number(this.parts[0].alphabet));
  }
}

/** A numeric mechanism for those inside a range, a fixed draw for those outside (input 2), and a tag that says which. */
export class Ranged extends Mechanism {
  numeric = true;
  wordsPerReport = 3;

  /** @param {Fields} fields */
  constructor(fields) {
    super(fields);
    const [inner] = partsOf(fields, 1, ["table", "window", "mixture"]);
    const runs = fields.rows("draw", 0, TOTAL);
    this.inner = inner;
    this.cells = Number(inner.alphabet);
    const sum = runs.reduce((total, [count]) => total + count, 0);
    if (runs[0].length !== 2 || sum !== this.cells || sum > MAX_ENTRIES) {
      throw new WireError(`draw must be pairs of count and weight for ${this.cells} (at most ${MAX_ENTRIES}) reports`);
    }
    if (runs.some(([count, weight], i) => count < 1 || (i && weight === runs[i - 1][1]))) {
      throw new WireError("draw must join equal neighbours into one pair");
    }
    const draw = runs.flatMap(([count, weight]) => Array(count).fill(weight));
    this.thresholds = accumulate(draw);
    this.inside = fields.integer("inside", 1, TOTAL - 1);
    this.outside = fields.integer("outside", 1, TOTAL - 1);
    this.isSilent = fields.integer("silent", 0, 1) === 1;
    if (this.thresholds[this.cells - 1] !== TOTAL || this.outside >= this.inside) {
      throw new WireError("draw must sum to exactly 2^48, and outside must be below inside");
    }
    this.alphabet = this.cells + (this.isSilent ? 1 : this.cells);
    this.certify(largest(this.#pairs(draw)));
  }

  /** For each report its largest and least probability over all inputs, in units of 2^-112. @param {number[]} draw */
  *#pairs(draw) {
    const columns = envelope(this.inner);
    for (const isInside of [true, false]) {
      const inside = BigInt(isInside ? this.inside : TOTAL - this.inside);
      const outside = BigInt(isInside ? this.outside : TOTAL - this.outside);
      for (let y = 0; y < (isInside || !this.isSilent ? draw.length : 1); y++) {
        const [low, high] = isInside || !this.isSilent ? columns[y] : [1n, 1n];
        const weight = isInside || !this.isSilent ? BigInt(draw[y]) << 16n : 1n;
        const [a, b, other] = [inside * low, inside * high, outside * weight];
        const least = a < other ? a : other;
        if (!least) throw new PrivacyError(`${this.name} has a report that some people can never send`, "unprotected");
        yield /** @type {[bigint, bigint]} */ ([b > other ? b : other, least]);
      }
    }
  }

  get image() {
    return /** @type {const} */ ("numbers or outside");
  }

  /** @param {number} x */
  check(x) {
    return x === OUTSIDE ? x : super.check(x);
  }

  /** @param {number} x @param {Words} words @returns {number} */
  sample(x, words) {
    const isOut = x === OUTSIDE;
    const saysInside = words.top(2) < (isOut ? this.outside : this.inside);
    if (this.isSilent && !saysInside) return this.cells;
    const report = isOut ? countUpTo(this.thresholds, words.top(1)) : Number(this.inner.sample(x, words));
    return report + (saysInside ? 0 : this.cells);
  }
}

/** The least and largest P(y | x), in units of 2^-64. @param {Mechanism} inner @returns {[bigint, bigint][]} */
function envelope(inner) {
  const scaled = (/** @type {any} */ part, /** @type {number} */ coin) =>
    part.columns.map((/** @type {Extremes} */ pair) => pair.map((weight) => BigInt(weight) * BigInt(coin)));
  if (!(inner instanceof Mixture)) return scaled(inner, 65536);
  return [...scaled(inner.parts[0], inner.coin), ...scaled(inner.parts[1], 65536 - inner.coin)];
}

/** Nested mechanisms: numeric ones of the kinds allowed. @param {Fields} fields @param {number} count @param {string[]} kinds */
function partsOf(fields, count, kinds) {
  const documents = fields.list("parts");
  const wrong = new WireError(`parts must be ${count} numeric ${kinds.join(" or ")}`);
  if (documents.length !== count || !documents.every((part) => kinds.includes(part?.kind))) throw wrong;
  const parts = documents.map(Mechanism.fromDocument);
  if (!parts.every((part) => part.numeric)) throw wrong;
  return parts;
}

Object.assign(Mechanism.kinds, { table: Table, window: Window, mixture: Mixture, ranged: Ranged });
