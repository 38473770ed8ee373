// Documents of mechanisms, read strictly: a version, a field or a spelling that is not known is refused.
import { WireError } from "./errors.js";

export const VERSION = 1;
export const MAX_ENTRIES = 2 ** 20;
const MAX_DEPTH = 16;
const MAX_CHARACTERS = 2 ** 24;
const MAX_BRACKETS = 2 ** 18;
const LONGEST_NUMBER = 40;

/** @typedef {Record<string, any>} Document */

/**
 * A number that is no exact whole one: written with a fraction or an exponent, or (`isLarge`) above 2^53. Where a whole
 * number is due it is refused, as in Python.
 */
export class Decimal {
  /** @param {number} value @param {boolean} isLarge */
  constructor(value, isLarge) {
    this.value = value;
    this.isLarge = isLarge;
  }
}

/** The number that a field for any number holds. @param {any} value */
export const plain = (value) => (value instanceof Decimal ? value.value : value);

/**
 * Parse JSON strictly. What JSON.parse hides is told: a repeated key is refused, and 1.0 is not 1.
 * @param {string} text @param {string} name what the text is, for sentences @param {number} [most] characters
 */
export function parse(text, name, most = MAX_CHARACTERS) {
  if (typeof text !== "string") throw new WireError(`${name} must be the text that was received, not a ${typeof text}`);
  if (text.length > most) throw new WireError(`${name} must have at most ${most} characters, not ${text.length}`);
  let brackets = 0;
  for (let i = 0; i < text.length; i++) brackets += Number(text[i] === "[" || text[i] === "{");
  if (brackets > MAX_BRACKETS) throw new WireError(`${name} must have at most ${MAX_BRACKETS} lists and objects`);
  try {
    JSON.parse(text);
  } catch {
    throw new WireError(`${name} is not JSON`); // the engine's own sentence would quote it
  }
  const token = /"(?:[^"\\]|\\.)*"|[{}[\]]|[^\s{}[\]:,"]+/g; // enough for a text that is JSON
  const next = () => /** @type {RegExpExecArray} */ (token.exec(text))[0];
  const value = (/** @type {string} */ one, /** @type {number} */ depth) => {
    if (one !== "{" && one !== "[") return scalar(one, name);
    if (depth === MAX_DEPTH) throw new WireError(`${name} must be nested at most ${MAX_DEPTH} deep`);
    /** @type {any[]} */
    const items = [];
    if (one === "[") {
      for (let item = next(); item !== "]"; item = next()) items.push(value(item, depth + 1));
      return items;
    }
    for (let key = next(); key !== "}"; key = next()) items.push([JSON.parse(key), value(next(), depth + 1)]);
    const found = Object.fromEntries(items); // own fields, __proto__ too
    if (Object.keys(found).length !== items.length) throw new WireError(`${name} must not repeat a key`);
    return found;
  };
  return value(next(), 0);
}

/** @param {string} one @param {string} name */
function scalar(one, name) {
  if (!/^[-\d]/.test(one)) return JSON.parse(one);
  if (one.length > LONGEST_NUMBER) throw new WireError(`${name} must have numbers of at most ${LONGEST_NUMBER} characters, not ${one.length}`);
  const number = Number(one) + 0; // -0 is 0
  if (/[.eE]/.test(one)) return new Decimal(Number(one), false);
  return Math.abs(number) > 2 ** 53 || `${number}` !== (one === "-0" ? "0" : one) ? new Decimal(number, true) : number;
}

/** @param {string} text @returns {Document} */
export function readDocument(text) {
  const document = parse(text, "mechanism document");
  if (document === null || typeof document !== "object" || Array.isArray(document)) {
    throw new WireError("mechanism document must be an object");
  }
  if (document.discreet !== VERSION) {
    throw new WireError(`mechanism document has version ${show(document.discreet)}; this client reads ${VERSION}`);
  }
  return document;
}

/** The one JSON text of a document: sorted keys, no spaces, ASCII. @param {any} value @returns {string} */
export function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical)}]`;
  if (value !== null && typeof value === "object") {
    return `{${Object.keys(value).sort().map((key) => `${canonical(key)}:${canonical(value[key])}`)}}`;
  }
  const escape = (/** @type {string} */ c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return JSON.stringify(value).replace(/[\u007f-\uffff]/g, escape);
}

/** Typed, strict reading: every field must be read, and no other may be there. */
export class Fields {
  #read = new Set();

  /** @param {Document} document */
  constructor(document) {
    this.document = document;
  }

  /** @param {string} key */
  #get(key) {
    this.#read.add(key);
    if (!Object.hasOwn(this.document, key)) throw new WireError(`mechanism document lacks the field '${key}'`);
    return this.document[key];
  }

  /** @param {string} key @returns {string} */
  text(key) {
    const value = this.#get(key);
    if (typeof value !== "string") throw new WireError(`${key} must be a string, not ${show(value)}`);
    return value;
  }

  /** @param {string} key */
  real(key) {
    return real(key, this.#get(key));
  }

  /** @param {string} key */
  reals(key) {
    return this.list(key).map((item) => real(key, item));
  }

  /** @param {string} key @param {number} low @param {number} high */
  integer(key, low, high) {
    return integer(key, this.#get(key), low, high);
  }

  /** @param {string} key @param {number} low @param {number} high */
  integers(key, low, high) {
    return this.list(key).map((item) => integer(key, item, low, high));
  }

  /** A rectangular table. @param {string} key @param {number} low @param {number} high */
  rows(key, low, high) {
    const rows = this.list(key);
    const width = rows[0]?.length;
    if (!width || !rows.every((row) => Array.isArray(row) && row.length === width) || rows.length * width > MAX_ENTRIES) {
      throw new WireError(`${key} must be a rectangular table of at most ${MAX_ENTRIES} entries`);
    }
    return rows.map((row) => row.map((/** @type {any} */ item) => integer(key, item, low, high)));
  }

  /** @param {string} key @returns {any[]} */
  list(key) {
    const value = this.#get(key);
    if (!Array.isArray(value) || value.length > MAX_ENTRIES) {
      throw new WireError(`${key} must be a list of at most ${MAX_ENTRIES} entries`);
    }
    return value;
  }

  done() {
    for (const key of Object.keys(this.document)) {
      if (!this.#read.has(key)) throw new WireError(`mechanism document has the unknown field '${key}'`);
    }
  }
}

/** @param {any} value */
const show = (value) => JSON.stringify(value)?.slice(0, 80);

/** @param {string} key @param {any} value */
function real(key, value) {
  const number = typeof value === "string" ? Number(value) : NaN;
  if (!Number.isFinite(number) || spell(number) !== value) {
    throw new WireError(`${key} must be a number written as a string, such as "0.5", not ${show(value)}`);
  }
  return number;
}

/** @param {string} key @param {any} value @param {number} low @param {number} high @returns {number} */
function integer(key, value, low, high) {
  if (!Number.isSafeInteger(value) || value < low || value > high) {
    throw new WireError(`${key} must be a whole number from ${low} to ${high}, not ${show(value)}`);
  }
  return value;
}

/** A number as Python's repr writes it. @param {number} x */
export function spell(x) {
  const sign = x < 0 || Object.is(x, -0) ? "-" : "";
  const [mantissa, power] = Math.abs(x).toExponential().split("e");
  const [digits, e] = [mantissa.replace(".", ""), Number(power)];
  if (e < -4 || e >= 16) return `${sign}${mantissa}e${power[0]}${power.slice(1).padStart(2, "0")}`;
  if (e < 0) return `${sign}0.${"0".repeat(-e - 1)}${digits}`;
  return `${sign}${digits.slice(0, e + 1).padEnd(e + 1, "0")}.${digits.slice(e + 1) || "0"}`;
}
