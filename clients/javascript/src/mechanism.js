import { Entropy, hex, joined, sha256, unhex, utf8, Words } from "./entropy.js";
import { DomainError, PrivacyError, WireError } from "./errors.js";
import { canonical, Fields, readDocument, VERSION } from "./wire.js";

/** @typedef {import("./exact.js").Ratio} Ratio */
/** @typedef {number | bigint | Uint8Array} Report */
/** @typedef {{ entropy?: Entropy, publicWord?: bigint }} Draw */

/** @type {Entropy | undefined} */
let system;

/** A randomiser with a finite alphabet, made from a document whose claim was checked here, on this device. */
export class Mechanism {
  /** @type {Record<string, new (fields: Fields) => Mechanism>} */
  static kinds = {};
  id = "";
  numeric = false;
  /** Whether the first word is a coin that need not be secret, and that the report's id may fix. */
  isPublic = false;
  /** Number of categories. */
  size = 0;
  /** Number of different reports; 0 if the report is a bit vector. @type {number | bigint} */
  alphabet = 0;
  /** Random words of one report, whatever the input. */
  wordsPerReport = 2;
  /** @type {{ ratio: Ratio, claimed: number, epsilon: number }} */
  // @ts-ignore: every kind certifies itself in its constructor
  certificate;

  /** @param {Fields} fields */
  constructor(fields) {
    this.kind = fields.text("kind");
    this.name = fields.text("name");
    this.epsilon = fields.real("epsilon");
    if (!(this.epsilon >= 1e-4 && this.epsilon <= 20)) {
      throw new WireError(`epsilon must be a number from 0.0001 to 20, not ${this.epsilon}`);
    }
  }

  /**
   * Read a document, compute its exact epsilon and refuse it if that is above its claim, or above `limit`.
   * @param {string} text
   * @param {{ limit?: number }} [options] the most that the person allows for one answer
   */
  static async fromJSON(text, { limit = Infinity } = {}) {
    const mechanism = await Mechanism.fromParsed(readDocument(text));
    const { ratio, epsilon } = mechanism.certificate;
    if (!ratio.within(limit)) {
      throw new PrivacyError(`${mechanism.name} has epsilon ${epsilon}; the owner of this device allows ${limit}`, "limit", { epsilon, limit });
    }
    return mechanism;
  }

  /** A mechanism, with its id, from a document that was parsed strictly. @param {any} document */
  static async fromParsed(document) {
    const mechanism = Mechanism.fromDocument(document);
    mechanism.id = hex(await sha256(utf8(canonical(document))));
    return mechanism;
  }

  /** @param {any} document @returns {Mechanism} */
  static fromDocument(document) {
    const fields = new Fields(document);
    fields.integer("discreet", VERSION, VERSION);
    const kind = fields.text("kind");
    if (!Object.hasOwn(Mechanism.kinds, kind)) {
      throw new WireError(`kind must be one of ${Object.keys(Mechanism.kinds).join(", ")}, not '${kind}'`);
    }
    const mechanism = new Mechanism.kinds[kind](fields);
    fields.done();
    return mechanism;
  }

  /** Keep the certificate, or refuse the claim. @param {Ratio} ratio */
  certify(ratio) {
    this.certificate = { ratio, claimed: this.epsilon, epsilon: ratio.epsilon };
    if (!ratio.within(this.epsilon)) {
      throw new PrivacyError(
        `${this.name} claims epsilon = ${this.epsilon} but its exact epsilon is ${ratio.epsilon}; ` +
          "a mechanism that exceeds its claim is never used",
        "claim",
        { epsilon: ratio.epsilon, claimed: this.epsilon },
      );
    }
  }

  /** Which inputs it takes, in the words of encoders. @returns {import("./encoders.js").Image} */
  get image() {
    return this.numeric ? "numbers" : "categories";
  }

  /**
   * Whether every input that an encoder can make is one of this mechanism, so that no value can fail.
   * @param {{ image?: string, size?: number }} encoder
   */
  fits(encoder) {
    return encoder.image === this.image && (!["categories", "places"].includes(this.image) || encoder.size === this.size);
  }

  /** One report from one checked input and its words. @param {number} _x @param {Words} _words @returns {Report | Promise<Report>} */
  sample(_x, _words) {
    throw new Error("not reached");
  }

  /** @param {number} x */
  check(x) {
    const isAllowed = this.numeric ? x >= -1 && x <= 1 : Number.isInteger(x) && x >= 0 && x < this.size;
    if (typeof x !== "number" || !isAllowed) {
      const allowed = this.numeric ? "a number from -1 to 1" : `a whole number from 0 to ${this.size - 1}`;
      throw new DomainError(`input of ${this.name} must be ${allowed}`); // the input is not quoted: it may be a secret
    }
    return x;
  }

  /** Randomise one canonical input; only what this returns may leave the device. @param {number} x @param {Draw} [draw] */
  async privatize(x, draw) {
    return (await this.privatizeAll([x], draw))[0];
  }

  /**
   * Randomise many inputs with one read of the keystream.
   * @param {number[]} inputs
   * @param {Draw} [draw]
   */
  async privatizeAll(inputs, { entropy = (system ??= new Entropy()), publicWord } = {}) {
    inputs.forEach((x) => this.check(x));
    const step = 8 * this.wordsPerReport;
    const bytes = await entropy.read(step * inputs.length);
    const reports = inputs.map((x, i) => {
      const words = new Words(bytes.subarray(step * i, step * (i + 1)));
      if (this.isPublic && publicWord !== undefined) words.view.setBigUint64(0, publicWord, true);
      return this.sample(x, words);
    });
    return Promise.all(reports);
  }

  /** The public word of a report id: anyone can compute it, nobody can choose it. @param {Uint8Array} reportId */
  async publicWord(reportId) {
    return new DataView((await sha256(joined(unhex(this.id), reportId))).buffer).getBigUint64(0, true);
  }

  /** Bytes of one packed report, always the same. */
  get reportBytes() {
    return Math.ceil((BigInt(this.alphabet) - 1n).toString(16).length / 2);
  }

  /** The report as it is sent, little-endian. @param {Report} report */
  pack(report) {
    const packed = new Uint8Array(this.reportBytes);
    if (report instanceof Uint8Array) packed.set(report);
    else packed.forEach((_, i) => (packed[i] = Number((BigInt(report) >> BigInt(8 * i)) & 255n)));
    return packed;
  }
}

/** How many entries of an increasing list are at most u. @param {ArrayLike<number>} list @param {number} u */
export function countUpTo(list, u) {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (list[middle] <= u) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Running sums. @param {number[]} weights */
export function accumulate(weights) {
  let sum = 0;
  return weights.map((weight) => (sum += weight));
}
