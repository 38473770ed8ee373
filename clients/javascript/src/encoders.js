// From what a person holds to a mechanism's input, by the same floating-point operations as in Python.
import { DomainError } from "./errors.js";

/** The input of somebody who is not in the range. */
export const OUTSIDE = 2;

/** Numbers from low to high, scaled to [-1, 1]; values outside are clipped. */
export class Interval {
  /** @param {number} low @param {number} high */
  constructor(low, high) {
    if (![low, high].every(Number.isFinite) || !(low < high && Number.isFinite(high - low))) {
      throw new DomainError(`low and high must be finite numbers, low below high, not ${low} and ${high}`);
    }
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
export class Bucket {
  /** @param {Interval} interval @param {number} bins */
  constructor(interval, bins) {
    if (!(Number.isSafeInteger(bins) && bins > 0)) throw new DomainError(`bins must be a whole number from 1, not ${bins}`);
    this.interval = interval;
    this.bins = bins;
  }

  /** @param {number} value */
  encode(value) {
    return Math.min(Math.floor((this.interval.encode(value) + 1) * (this.bins / 2)), this.bins - 1);
  }
}

/** Numbers of an interval as places in a region of a range: [-1, 1], or 2 for those outside the range. */
export class Range {
  /**
   * @param {Interval} interval
   * @param {number[]} range low and high, ends included
   * @param {number[]} region what is scaled to [-1, 1]: the range, or a part of it
   * @param {boolean} clip whether people of the range outside the region answer as its nearest end, or as outside
   */
  constructor(interval, range, region, clip) {
    const goesUp = (/** @type {any} */ ends) =>
      Array.isArray(ends) && ends.length === 2 && ends.every(Number.isFinite) && ends[0] < ends[1] && Number.isFinite(ends[1] - ends[0]);
    if (!goesUp(range) || !goesUp(region) || typeof clip !== "boolean") {
      throw new DomainError(`range and region must be two finite numbers that go up, not ${range} and ${region}; clip true or false`);
    }
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
export class SquaredDeviation {
  /** `clip` refuses a centre that is not a finite number. @param {Interval} interval @param {number} centre */
  constructor(interval, centre) {
    interval.clip(centre);
    this.interval = interval;
    this.centre = centre;
  }

  /** @param {number} value */
  encode(value) {
    const { low, high } = this.interval;
    const scaled = low + (this.interval.encode(value) + 1) * ((high - low) / 2) - this.centre;
    const most = Math.max(this.centre - low, high - this.centre);
    return Math.min(Math.max(scaled * scaled * (2 / (most * most)) - 1, -1), 1);
  }
}

/** One attribute of a person's row of numbers. */
export class Attribute {
  /** @param {number} index @param {Interval} interval */
  constructor(index, interval) {
    if (!(Number.isSafeInteger(index) && index >= 0)) throw new DomainError(`attribute must be a whole number from 0, not ${index}`);
    this.index = index;
    this.interval = interval;
  }

  /** @param {number[]} row */
  encode(row) {
    return this.interval.encode(row[this.index]);
  }
}

/** A list of labels, in the order given. */
export class Categories {
  #index;

  /** @param {(string | number)[]} labels */
  constructor(labels) {
    if (!Array.isArray(labels)) throw new DomainError("labels must be a list");
    this.labels = [...labels];
    this.#index = new Map(labels.map((label, i) => [label, i]));
    if (labels.length < 2 || this.#index.size !== labels.length) {
      throw new DomainError("labels must be at least 2 different ones");
    }
  }

  /** @param {string | number} value */
  encode(value) {
    const index = this.#index.get(value);
    if (index === undefined) throw new DomainError(`value is not one of the ${this.labels.length} categories`);
    return index;
  }
}

/** @param {any} fields */
function intervalOf({ interval }) {
  const found = readEncoder(interval);
  if (!(found instanceof Interval)) throw new DomainError("interval must have the fields low and high");
  return found;
}

/** The fields of each kind, and what is made of them. @type {Record<string, [string[], (fields: any) => any]>} */
const KINDS = {
  interval: [["low", "high"], ({ low, high }) => new Interval(low, high)],
  categories: [["labels"], ({ labels }) => new Categories(labels)],
  bucket: [["interval", "bins"], (fields) => new Bucket(intervalOf(fields), fields.bins)],
  "squared-deviation": [["interval", "squared_deviation_from"], (fields) => new SquaredDeviation(intervalOf(fields), fields.squared_deviation_from)],
  attribute: [["attribute", "interval"], (fields) => new Attribute(fields.attribute, intervalOf(fields))],
  range: [["interval", "range", "region", "clip"], (fields) => new Range(intervalOf(fields), fields.range, fields.region, fields.clip)],
};

/** Whether an object has these fields and no other. @param {object} fields @param {string[]} names */
const hasJust = (fields, names) => Object.keys(fields).sort().join() === [...names].sort().join();

/** The encoder of a document; those of version 0.1 have the same fields without a kind. @param {any} document */
export function readEncoder(document) {
  if (document === null || typeof document !== "object") throw new DomainError("encoder must be an object with a kind");
  const { kind: named, ...fields } = document;
  const kind = named ?? Object.keys(KINDS).find((one) => hasJust(fields, KINDS[one][0]));
  if (typeof kind !== "string" || !Object.hasOwn(KINDS, kind)) {
    throw new DomainError(`kind of the encoder must be one of ${Object.keys(KINDS).join(", ")}, not ${kind}`);
  }
  if (!hasJust(fields, KINDS[kind][0])) throw new DomainError(`encoder '${kind}' must have the fields ${KINDS[kind][0].join(", ")}`);
  return KINDS[kind][1](fields);
}
