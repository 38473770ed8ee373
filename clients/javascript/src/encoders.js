// From what a person holds to a mechanism's input, by the same floating-point operations as in Python.
import { DomainError } from "./errors.js";

/** The input of somebody who is not in the range. */
export const OUTSIDE = 2;

/** Numbers from low to high, scaled to [-1, 1]; values outside are clipped. */
export class Interval {
  /** @param {number} low @param {number} high */
  constructor(low, high) {
    if (!(low < high && Number.isFinite(low) && Number.isFinite(high - low))) {
      throw new DomainError(`low is ${low} and high is ${high}; allowed are finite numbers, low below high`);
    }
    this.low = low;
    this.high = high;
  }

  /** @param {number} value */
  clip(value) {
    if (!Number.isFinite(value)) throw new DomainError(`value is ${value}; allowed is a finite number`);
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
    if (!(Number.isSafeInteger(bins) && bins > 0)) throw new DomainError(`bins is ${bins}; allowed is a whole number`);
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
    if (![range, region].every(([low, high]) => Number.isFinite(high - low) && low < high)) {
      throw new DomainError(`range is ${range} and region ${region}; allowed are finite numbers, low below high`);
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

/** A list of labels, in the order given. */
export class Categories {
  #index;

  /** @param {(string | number)[]} labels */
  constructor(labels) {
    this.labels = [...labels];
    this.#index = new Map(labels.map((label, i) => [label, i]));
    if (labels.length < 2 || this.#index.size !== labels.length) {
      throw new DomainError("labels are fewer than 2, or one is there twice");
    }
  }

  /** @param {string | number} value */
  encode(value) {
    const index = this.#index.get(value);
    if (index === undefined) throw new DomainError(`value is '${value}'; it is not one of the ${this.labels.length} categories`);
    return index;
  }
}

/** The encoder that Python's `to_dict` wrote. @param {any} description */
export function readEncoder(description) {
  const { low, high, labels, interval, bins, range, region, clip } = description;
  switch (Object.keys(description).sort().join(" ")) {
    case "high low":
      return new Interval(low, high);
    case "labels":
      return new Categories(labels);
    case "bins interval":
      return new Bucket(new Interval(interval.low, interval.high), bins);
    case "interval squared_deviation_from":
      return new SquaredDeviation(new Interval(interval.low, interval.high), description.squared_deviation_from);
    case "clip interval range region":
      return new Range(new Interval(interval.low, interval.high), range, region, clip);
  }
  throw new DomainError(`encoder has the fields ${Object.keys(description)}; none has just these`);
}
