// From what a person holds to a mechanism's input, by the same floating-point operations as in Python.
//
// `encode` tells what is wrong with a value. `encodeTotal`, which the device uses, never throws for any value: what
// cannot be read becomes a constant input, so that a collector cannot learn from silence which values fail.
import { DomainError } from "./errors.js";
import { plain } from "./wire.js";

/** @typedef {{ input: number, isReplaced: boolean }} Encoded */

/** The input of somebody who is not in the range. */
export const OUTSIDE = 2;

/** Whether it is a number with which no arithmetic below can overflow. @param {any} x */
const isNumber = (x) => typeof x === "number" && Math.abs(x) <= 2 ** 1000;
/** Whether two numbers go up, and by so much that what lies between them can be scaled. @param {any} low @param {any} high */
const goUp = (low, high) => isNumber(low) && isNumber(high) && high - low >= 2 ** -1000;
const GO_UP = "numbers of magnitude 2^1000 at most that go up by at least 2^-1000";

/** @typedef {"numbers" | "numbers or outside" | "categories" | "places"} Image */

/** What every encoder has; its `image` says which inputs it makes: places are numbers from 0 to size - 1. */
class Encoder {
  /** @type {Image} */
  image = "numbers";
  /** How many categories or places it makes. */
  size = 0;

  /** @param {any} _value @returns {number} */
  encode(_value) {
    throw new Error("not reached");
  }

  /** The input of whatever cannot be read. */
  get replacement() {
    return this.image === "numbers or outside" ? OUTSIDE : 0;
  }

  /** The input of any value at all, and whether it had to be replaced; never throws. @param {any} value @returns {Encoded} */
  encodeTotal(value) {
    try {
      return { input: this.encode(value) + 0, isReplaced: false }; // -0 is 0
    } catch {
      return { input: this.replacement, isReplaced: true };
    }
  }
}

/** Numbers from low to high, scaled to [-1, 1]; values outside are clipped. */
export class Interval extends Encoder {
  /** @param {number} low @param {number} high */
  constructor(low, high) {
    super();
    if (!goUp(low, high)) throw new DomainError(`low and high must be ${GO_UP}`);
    this.low = low;
    this.high = high;
  }

  /** @param {number} value */
  clip(value) {
    if (!Number.isFinite(value)) throw new DomainError("value must be a finite number"); // not quoted: it may be a secret
    return Math.min(Math.max(value, this.low), this.high);
  }

  /** @param {number} value */
  encode(value) {
    const scaled = (this.clip(value) - this.low) * (2 / (this.high - this.low)) - 1;
    return Math.min(Math.max(scaled, -1), 1);
  }
}

/** Numbers of an interval as the number of their bucket, 0..bins-1. */
export class Bucket extends Encoder {
  /** @param {Interval} interval @param {number} bins */
  constructor(interval, bins) {
    super();
    if (!(Number.isSafeInteger(bins) && bins > 0 && bins <= 2 ** 31)) throw new DomainError("bins must be a whole number from 1 to 2^31");
    this.image = /** @type {const} */ ("categories");
    this.interval = interval;
    this.bins = this.size = bins;
  }

  /** @param {number} value */
  encode(value) {
    return Math.min(Math.floor((this.interval.encode(value) + 1) * (this.bins / 2)), this.bins - 1);
  }
}

/** Numbers of an interval as places in a region of a range: [-1, 1], or 2 for those outside the range. */
export class Range extends Encoder {
  /**
   * @param {Interval} interval
   * @param {number[]} range low and high, ends included
   * @param {number[]} region what is scaled to [-1, 1]: the range, or a part of it
   * @param {boolean} clip whether people of the range outside the region answer as its nearest end, or as outside
   */
  constructor(interval, range, region, clip) {
    super();
    const isPair = (/** @type {any} */ ends) => Array.isArray(ends) && ends.length === 2 && goUp(ends[0], ends[1]);
    if (!isPair(range) || !isPair(region)) throw new DomainError(`range and region must be two ${GO_UP}`);
    if (typeof clip !== "boolean") throw new DomainError("clip must be true or false");
    this.image = /** @type {const} */ ("numbers or outside");
    this.interval = interval;
    this.range = range;
    this.region = region;
    this.clip = clip;
  }

  /** @param {number} value */
  encode(value) {
    const kept = this.interval.clip(value);
    const [first, last] = this.clip ? this.range : this.region;
    if (kept < first || kept > last) return OUTSIDE;
    const [low, high] = this.region;
    return Math.min(Math.max((kept - (low + high) / 2) / ((high - low) / 2), -1), 1);
  }
}

/** Numbers of an interval as their squared distance from a centre, scaled to [-1, 1]. */
export class SquaredDeviation extends Encoder {
  /** @param {Interval} interval @param {number} centre */
  constructor(interval, centre) {
    super();
    this.interval = interval;
    const farthest = Math.max(centre - interval.low, interval.high - centre);
    this.centre = centre;
    this.largest = farthest * farthest;
    if (!isNumber(centre) || !(this.largest >= 2 ** -1000 && this.largest <= 2 ** 1000)) {
      throw new DomainError("the largest squared distance from squared_deviation_from must be 2^-1000 to 2^1000");
    }
  }

  /** @param {number} value */
  encode(value) {
    const { low, high } = this.interval;
    const scaled = low + (this.interval.encode(value) + 1) * ((high - low) / 2) - this.centre;
    return Math.min(Math.max(scaled * scaled * (2 / this.largest) - 1, -1), 1);
  }
}

/** Whether a number of an interval is at most a threshold: 1 for yes, 0 for no. It is compared as it is, never scaled. */
export class Below extends Encoder {
  /** @param {Interval} interval @param {string} threshold a decimal number as text, without exponent and needless zeros */
  constructor(interval, threshold) {
    super();
    const isText = typeof threshold === "string" && threshold.length <= 400 && /^(?!-0$)-?(0|[1-9][0-9]*)(\.[0-9]*[1-9])?$/.test(threshold);
    if (!isText || !isNumber(Number(threshold))) throw new DomainError("threshold must be a decimal number as text, of magnitude 2^1000 at most");
    this.image = /** @type {const} */ ("categories");
    this.size = 2;
    this.interval = interval;
    this.threshold = threshold;
  }

  /** @param {number} value */
  encode(value) {
    return this.interval.clip(value) <= Number(this.threshold) ? 1 : 0;
  }
}

/** One attribute of a person's row of numbers. */
export class Attribute extends Encoder {
  /** @param {number} index @param {Interval} interval */
  constructor(index, interval) {
    super();
    if (!(Number.isSafeInteger(index) && index >= 0 && index < 2 ** 31)) throw new DomainError("attribute must be a whole number from 0 to 2^31 - 1");
    this.index = index;
    this.interval = interval;
  }

  /** @param {number[]} row */
  encode(row) {
    if (!Array.isArray(row) && !ArrayBuffer.isView(row)) throw new DomainError("value must be a list of numbers");
    return this.interval.encode(row[this.index]);
  }
}

/** Whole numbers 0..size-1 as categories: each stands for an answer, a refusal too. */
export class Symbols extends Encoder {
  /** @param {number} size */
  constructor(size) {
    super();
    if (!(Number.isSafeInteger(size) && size >= 2 && size <= 2 ** 48)) throw new DomainError("size must be a whole number from 2 to 2^48");
    this.image = /** @type {const} */ ("categories");
    this.size = size;
  }

  /** @param {number} value */
  encode(value) {
    if (!(Number.isInteger(value) && value >= 0 && value < this.size)) throw new DomainError(`value must be a whole number below ${this.size}`);
    return value;
  }

  get replacement() {
    return this.size - 1;
  }
}

/** One column of a person's row, scaled to [-1, 1]; 2 if the person gives no number. */
export class NumberOrRefusal extends Encoder {
  /** @param {number} index @param {Interval} interval */
  constructor(index, interval) {
    super();
    if (!(Number.isSafeInteger(index) && index >= 0 && index < 2 ** 31)) throw new DomainError("attribute must be a whole number from 0 to 2^31 - 1");
    this.image = /** @type {const} */ ("numbers or outside");
    this.index = index;
    this.interval = interval;
  }

  /** @param {(number | null)[]} row */
  encode(row) {
    const number = Array.isArray(row) || ArrayBuffer.isView(row) ? row[this.index] : undefined;
    return number === null ? OUTSIDE : this.interval.encode(number);
  }
}

/** A list of labels, in the order given. */
export class Categories extends Encoder {
  #index;

  /** @param {(string | number)[]} labels */
  constructor(labels) {
    super();
    if (!Array.isArray(labels)) throw new DomainError("labels must be a list");
    if (!labels.every((label) => ["string", "boolean"].includes(typeof label) || Number.isFinite(label))) {
      throw new DomainError("labels must be texts, booleans or finite numbers");
    }
    this.image = /** @type {const} */ ("categories");
    this.labels = [...labels];
    this.size = labels.length;
    this.#index = new Map(labels.map((label, i) => [same(label), i]));
    if (labels.length < 2 || this.#index.size !== labels.length) {
      throw new DomainError("labels must be at least 2 different ones");
    }
  }

  /** @param {string | number} value */
  encode(value) {
    const index = this.#index.get(same(value));
    if (index === undefined) throw new DomainError(`value is not one of the ${this.labels.length} categories`);
    return index;
  }
}

/** An entry of a row, or null if it is no row. @param {any} row @param {number} index */
const entry = (row, index) => (Array.isArray(row) || ArrayBuffer.isView(row) ? /** @type {any} */ (row)[index] : null);

/** Rows (label, number) as a place among the cells (group, knot); rounding it to a cell never leaves the group. */
export class GroupValue extends Encoder {
  /** @param {Categories} groups @param {Interval} interval @param {number} levels knots per group */
  constructor(groups, interval, levels) {
    super();
    if (!(Number.isSafeInteger(levels) && levels >= 2 && levels <= 64)) throw new DomainError("levels must be a whole number from 2 to 64");
    this.image = /** @type {const} */ ("places");
    this.groups = groups;
    this.interval = interval;
    this.levels = levels;
    this.size = groups.size * levels;
  }

  /** @param {number} group @param {number} scaled */
  #place(group, scaled) {
    return this.levels * group + (scaled + 1) * ((this.levels - 1) / 2);
  }

  /** @param {any} row */
  encode(row) {
    if (!Array.isArray(row) || row.length !== 2) throw new DomainError("value must be a pair of label and number");
    return this.#place(this.groups.encode(row[0]), this.interval.encode(row[1]));
  }

  /** Each entry is replaced by itself. @param {any} row @returns {Encoded} */
  encodeTotal(row) {
    const [group, number] = [totalEntry(this.groups, row, 0), totalEntry(this.interval, row, 1)];
    return { input: this.#place(group.input, number.input), isReplaced: group.isReplaced || number.isReplaced };
  }
}

/** Rows (label, number) as the number on [-1, 1] times a sign that the label has in a row of a Hadamard matrix. */
export class SignedValue extends Encoder {
  /** @param {Categories} groups @param {Interval} interval @param {number} row */
  constructor(groups, interval, row) {
    super();
    if (!(Number.isSafeInteger(row) && row >= 0 && row < 2 ** 12)) throw new DomainError("row must be a whole number from 0 to 4095");
    this.groups = groups;
    this.interval = interval;
    this.row = row;
  }

  /** @param {number} group @param {number} scaled */
  #signed(group, scaled) {
    let shared = group & this.row;
    for (const shift of [8, 4, 2, 1]) shared ^= shared >> shift;
    return (shared & 1 ? -scaled : scaled) + 0; // -0 is 0
  }

  /** @param {any} row */
  encode(row) {
    if (!Array.isArray(row) || row.length !== 2) throw new DomainError("value must be a pair of label and number");
    return this.#signed(this.groups.encode(row[0]), this.interval.encode(row[1]));
  }

  /** Each entry is replaced by itself. @param {any} row @returns {Encoded} */
  encodeTotal(row) {
    const [group, number] = [totalEntry(this.groups, row, 0), totalEntry(this.interval, row, 1)];
    return { input: this.#signed(group.input, number.input), isReplaced: group.isReplaced || number.isReplaced };
  }
}

/** What an encoder makes of one entry of any value. @param {Encoder} encoder @param {any} row @param {number} index @returns {Encoded} */
function totalEntry(encoder, row, index) {
  try {
    return encoder.encodeTotal(entry(row, index));
  } catch {
    return { input: encoder.replacement, isReplaced: true }; // the row's own code failed
  }
}

/** Several answers of a person's row as one category, in mixed radix: the first changes slowest. */
export class Answers extends Encoder {
  /** @param {number[]} columns which entries are read @param {Encoder[]} encoders how each becomes a category */
  constructor(columns, encoders) {
    super();
    const isColumn = (/** @type {any} */ column) => Number.isSafeInteger(column) && column >= 0 && column < 2 ** 31;
    if (!columns.length || columns.length !== encoders.length || !columns.every(isColumn)) {
      throw new DomainError("columns must be whole numbers from 0 to 2^31 - 1, as many as encoders, and at least 1");
    }
    if (!encoders.every((one) => one.image === "categories")) throw new DomainError("encoders of several answers must each give categories");
    this.image = /** @type {const} */ ("categories");
    this.columns = columns;
    this.encoders = encoders;
    this.size = encoders.reduce((product, { size }) => product * size, 1);
    if (!(this.size <= 2 ** 48)) throw new DomainError("encoders must give at most 2^48 categories together");
  }

  /** @param {number[]} codes */
  #joined(codes) {
    return codes.reduce((joined, code, i) => joined * this.encoders[i].size + code, 0);
  }

  /** @param {any} row */
  encode(row) {
    if (!Array.isArray(row)) throw new DomainError("value must be a list of answers");
    return this.#joined(this.encoders.map((one, i) => one.encode(row[this.columns[i]])));
  }

  /** Each entry is replaced by itself. @param {any} row @returns {Encoded} */
  encodeTotal(row) {
    const found = this.encoders.map((one, i) => totalEntry(one, row, this.columns[i]));
    return { input: this.#joined(found.map(({ input }) => input)), isReplaced: found.some(({ isReplaced }) => isReplaced) };
  }
}

/** What tells labels apart, as in Python: there true is 1. @param {any} label */
const same = (label) => (typeof label === "boolean" ? Number(label) : label);

/** @param {any} fields */
function intervalOf({ interval }) {
  const found = readEncoder(interval);
  if (!(found instanceof Interval)) throw new DomainError("interval must have the fields low and high");
  return found;
}

/** @param {any} fields */
function answersOf({ columns, encoders }) {
  if (!Array.isArray(columns) || !Array.isArray(encoders)) throw new DomainError("columns and encoders must be lists");
  if (encoders.some((one) => one?.kind === "answers" || one?.encoders)) throw new DomainError("encoders of several answers must each give categories");
  return new Answers(columns, encoders.map(readEncoder));
}

/** @param {any} fields */
function numberOrRefusal(fields) {
  if (fields.refusal !== true) throw new DomainError("refusal must be true");
  return new NumberOrRefusal(fields.attribute, intervalOf(fields));
}

/** The items of a list, or what is no list. @param {any} list */
const items = (list) => (Array.isArray(list) ? list.map(plain) : list);

/** @param {any} labels */
function labelsOf(labels) {
  if (Array.isArray(labels) && labels.some((label) => label?.isLarge)) throw new DomainError("labels that are whole numbers must be at most 2^53");
  return new Categories(items(labels));
}

/** The fields of each kind, and what is made of them. @type {Record<string, [string[], (fields: any) => any]>} */
const KINDS = {
  interval: [["low", "high"], ({ low, high }) => new Interval(plain(low), plain(high))],
  categories: [["labels"], ({ labels }) => labelsOf(labels)],
  bucket: [["interval", "bins"], (fields) => new Bucket(intervalOf(fields), fields.bins)],
  "squared-deviation": [["interval", "squared_deviation_from"], (fields) => new SquaredDeviation(intervalOf(fields), plain(fields.squared_deviation_from))],
  attribute: [["attribute", "interval"], (fields) => new Attribute(fields.attribute, intervalOf(fields))],
  symbols: [["size"], (fields) => new Symbols(fields.size)],
  "number-or-refusal": [["attribute", "interval", "refusal"], (fields) => numberOrRefusal(fields)],
  range: [["interval", "range", "region", "clip"], (fields) => new Range(intervalOf(fields), items(fields.range), items(fields.region), fields.clip)],
  below: [["interval", "threshold"], (fields) => new Below(intervalOf(fields), fields.threshold)],
  "group-value": [["labels", "interval", "levels"], (fields) => new GroupValue(labelsOf(fields.labels), intervalOf(fields), fields.levels)],
  "signed-value": [["labels", "interval", "row"], (fields) => new SignedValue(labelsOf(fields.labels), intervalOf(fields), fields.row)],
  answers: [["columns", "encoders"], (fields) => answersOf(fields)],
};

/** Whether an object has these fields and no other. @param {object} fields @param {string[]} names */
const hasJust = (fields, names) => Object.keys(fields).length === names.length && names.every((name) => Object.hasOwn(fields, name));

/** The encoder of a document; those of version 0.1 have the same fields without a kind. @param {any} document */
export function readEncoder(document) {
  if (document === null || typeof document !== "object") throw new DomainError("encoder must be an object with a kind");
  const { kind: named, ...fields } = document;
  const kind = Object.hasOwn(document, "kind") ? named : Object.keys(KINDS).find((one) => hasJust(fields, KINDS[one][0]));
  if (typeof kind !== "string" || !Object.hasOwn(KINDS, kind)) {
    throw new DomainError(`kind of the encoder must be one of ${Object.keys(KINDS).join(", ")}`);
  }
  if (!hasJust(fields, KINDS[kind][0])) throw new DomainError(`encoder '${kind}' must have the fields ${KINDS[kind][0].join(", ")}`);
  return KINDS[kind][1](fields);
}
