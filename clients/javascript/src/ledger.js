// The person's own ledger: what every answer cost, exactly, and the reports that wait to be sent. It charges and
// refuses; `Device` privatises.
import { hex, unhex } from "./entropy.js";
import { DiscreetError, PrivacyError } from "./errors.js";
import { Ratio } from "./exact.js";
import { alone } from "./storage.js";

/** @typedef {import("./storage.js").Storage} Storage */
/** @typedef {{ sent: string, report: string, isReplaced: boolean }} Kept what waits to be sent: the id or ticket, and the bytes */
/** @typedef {{ task: string, mechanism: string, name: string, ratio: string, epsilon: number, mark: string, id: string, kept?: Kept | null }} Entry */
/** @typedef {{ task: string, mechanism: string, name: string, ratio: Ratio, mark: string, id: string, kept?: null }} Charge kept: null if nothing of it will be kept */
/** @typedef {{ version: number, limit: number, secret: string, entries: Entry[] }} Book */
/** @typedef {{ secret: Uint8Array<ArrayBuffer>, entries: readonly Entry[], charge(charge: Charge): Promise<Entry>, keep(entry: Entry, kept: Kept | null): Promise<void> }} Account */

const VERSION = 2;
const TEXTS = /** @type {const} */ (["task", "mechanism", "name", "ratio", "mark", "id"]);

/** @param {any} limit */
const isLimit = (limit) => typeof limit === "number" && limit >= 0 && limit <= 1000;

/**
 * Keeps a budget. Privacy losses compose by multiplying the exact ratios; an answer that would bring their product above
 * e^limit is refused, by the same rule as in Python (tests/vectors/ledger.json). All ledgers of one storage and key are
 * one: whatever reads and writes does so alone.
 */
export class Ledger {
  /**
   * @param {{ storage: Storage, limit?: number, key?: string }} options limit: the most epsilon that the owner ever spends;
   * needed for a new ledger, and never taken from a caller against what the stored one says
   */
  constructor({ storage, limit, key = "discreet" }) {
    if (limit !== undefined && !isLimit(limit)) throw new DiscreetError("limit must be a number from 0 to 1000");
    this.storage = storage;
    this.limit = limit;
    this.key = key;
  }

  /** What was answered, what it cost together (rounded up), and the limit. */
  statement() {
    return this.#alone(async () => {
      const { entries, limit } = await this.#open();
      return { entries, epsilon: spent(entries).epsilon, limit };
    });
  }

  /** Whether an answer with this exact ratio would keep the limit; charges nothing. @param {Ratio} ratio */
  allows(ratio) {
    return this.#alone(async () => {
      const { entries, limit } = await this.#open();
      return spent(entries).times(ratio).within(Ratio.decimal(limit));
    });
  }

  /** Let the owner change the limit; what was spent stays. @param {number} limit */
  changeLimit(limit) {
    if (!isLimit(limit)) throw new DiscreetError("limit must be a number from 0 to 1000");
    return this.#alone(async () => {
      const book = await this.#open();
      if (book.limit !== limit) await this.#write({ ...book, limit });
      this.limit = limit;
    });
  }

  /**
   * Do some work while nobody else uses the ledger. `charge` adds an entry and `keep` sets what waits to be sent; each is
   * stored before its promise is kept.
   * @template T
   * @param {(account: Account) => Promise<T>} work
   */
  transact(work) {
    return this.#alone(async () => {
      const book = await this.#open();
      return work({
        secret: unhex(book.secret),
        entries: book.entries,
        charge: (charge) => this.#charge(book, charge),
        keep: async (entry, kept) => {
          await this.#write({ ...book, entries: book.entries.map((one) => (one === entry ? { ...one, kept } : one)) });
          entry.kept = kept;
        },
      });
    });
  }

  /** @param {Book} book @param {Charge} charge */
  async #charge(book, { ratio, ...named }) {
    if (book.entries.some(({ id }) => id === named.id)) {
      throw new PrivacyError("this report id was charged before; it never makes a second report");
    }
    const total = spent(book.entries).times(ratio);
    if (!total.within(Ratio.decimal(book.limit))) {
      throw new PrivacyError(`this answer would bring epsilon to ${total.epsilon}; the owner allows ${book.limit}`);
    }
    const entry = { ...named, ratio: `${ratio}`, epsilon: ratio.epsilon };
    await this.#write({ ...book, entries: [...book.entries, entry] });
    book.entries.push(entry);
    return entry;
  }

  /** @param {Book} book */
  async #write(book) {
    await this.storage.set(this.key, JSON.stringify(book));
  }

  /** @returns {Promise<Book>} */
  async #open() {
    const text = await this.storage.get(this.key);
    if (text !== null && text !== undefined) return this.#read(text);
    if (this.limit === undefined) throw new DiscreetError("there is no ledger here; a new one needs its limit");
    const book = { version: VERSION, limit: this.limit, secret: hex(crypto.getRandomValues(new Uint8Array(32))), entries: [] };
    await this.#write(book);
    return book;
  }

  /** A ledger that cannot be read is never used, and never replaced by a new one. @param {any} text @returns {Book} */
  #read(text) {
    let book;
    try {
      book = JSON.parse(text);
    } catch {
      book = null;
    }
    // Before version 2 the limit was not written: it must be given, and is written with the next entry.
    if (book?.secret && book.version === undefined && book.limit === undefined) {
      book = { version: VERSION, limit: this.limit, secret: book.secret, entries: book.entries?.map?.((/** @type {any} */ entry) => ({ kept: null, ...entry })) };
    }
    if (book?.version !== VERSION || !isLimit(book.limit) || !/^[0-9a-f]{64}$/.test(book.secret) || !Array.isArray(book.entries) || !book.entries.every(isEntry)) {
      throw new DiscreetError("the ledger here is damaged, or lacks its limit; a damaged ledger is never used");
    }
    if (this.limit !== undefined && this.limit !== book.limit) {
      throw new DiscreetError(`limit must be ${book.limit}, which the ledger here was made with, not ${this.limit}; its owner can change it with changeLimit`);
    }
    return book;
  }

  /** @template T @param {() => Promise<T>} work @returns {Promise<T>} */
  #alone(work) {
    return alone(this.storage, this.key, work);
  }
}

/** @param {any} entry */
function isEntry(entry) {
  return entry !== null && typeof entry === "object" && TEXTS.every((field) => typeof entry[field] === "string") && /^[1-9]\d*\/[1-9]\d*$/.test(entry.ratio);
}

/** @param {Entry[]} entries */
const spent = (entries) => entries.reduce((total, { ratio }) => total.times(Ratio.parse(ratio)), new Ratio(1n));
