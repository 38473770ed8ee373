// The person's own ledger: what every answer cost, exactly. It charges and refuses; `Device` privatises.
import { hex, unhex } from "./entropy.js";
import { DiscreetError, PrivacyError } from "./errors.js";
import { Ratio } from "./exact.js";

/** @typedef {import("./storage.js").Storage} Storage */
/** @typedef {{ task: string, mechanism: string, name: string, ratio: string, epsilon: number, mark: string, id: string }} Entry */
/** @typedef {{ task: string, mechanism: string, name: string, ratio: Ratio, mark: string, id: string }} Charge */
/** @typedef {{ secret: string, entries: Entry[] }} Book */
/** @typedef {{ secret: Uint8Array<ArrayBuffer>, find(mark: string): Entry | undefined, charge(charge: Charge): Promise<Entry> }} Account */

/**
 * Keeps a budget. Privacy losses compose by multiplying the exact ratios; an answer that would bring their product above
 * e^limit is refused, by the same rule as in Python (tests/vectors/ledger.json).
 */
export class Ledger {
  #last = Promise.resolve();

  /** @param {{ storage: Storage, limit: number, key?: string }} options limit: the most epsilon that the owner ever spends */
  constructor({ storage, limit, key = "discreet" }) {
    if (typeof limit !== "number" || !(limit >= 0 && limit <= 1000)) {
      throw new DiscreetError(`limit must be a number from 0 to 1000, not ${limit}`);
    }
    this.storage = storage;
    this.limit = limit;
    this.key = key;
  }

  /** What was answered, what it cost together (rounded up), and the limit. */
  statement() {
    return this.#alone(async () => {
      const { entries } = await this.#open();
      return { entries, epsilon: spent(entries).epsilon, limit: this.limit };
    });
  }

  /** Whether an answer with this exact ratio would keep the limit; charges nothing. @param {Ratio} ratio */
  allows(ratio) {
    return this.#alone(async () => this.#after((await this.#open()).entries, ratio).within(Ratio.decimal(this.limit)));
  }

  /**
   * Do some work while nobody else uses the ledger: `find` an earlier entry by its mark, or `charge` a new one, which is
   * stored before the promise is kept.
   * @template T
   * @param {(account: Account) => Promise<T>} work
   */
  transact(work) {
    return this.#alone(async () => {
      const book = await this.#open();
      return work({
        secret: unhex(book.secret),
        find: (mark) => book.entries.find((entry) => entry.mark === mark),
        charge: (charge) => this.#charge(book, charge),
      });
    });
  }

  /** @param {Book} book @param {Charge} charge */
  async #charge(book, { ratio, ...named }) {
    const total = this.#after(book.entries, ratio);
    if (!total.within(Ratio.decimal(this.limit))) {
      throw new PrivacyError(`this answer would bring epsilon to ${total.epsilon}; the owner allows ${this.limit}`);
    }
    const entry = { ...named, ratio: `${ratio}`, epsilon: ratio.epsilon };
    await this.storage.set(this.key, JSON.stringify({ ...book, entries: [...book.entries, entry] }));
    book.entries.push(entry);
    return entry;
  }

  /** @param {Entry[]} entries @param {Ratio} ratio */
  #after(entries, ratio) {
    return spent(entries).times(ratio);
  }

  /** @returns {Promise<Book>} */
  async #open() {
    const text = await this.storage.get(this.key);
    if (text !== null && text !== undefined) return JSON.parse(text); // a broken one throws: it must not start afresh
    const book = { secret: hex(crypto.getRandomValues(new Uint8Array(32))), entries: [] };
    await this.storage.set(this.key, JSON.stringify(book));
    return book;
  }

  /** One at a time, over all tabs where the browser can do that. @template T @param {() => Promise<T>} work @returns {Promise<T>} */
  #alone(work) {
    const locks = globalThis.navigator?.locks;
    const result = this.#last.then(() => (locks ? locks.request(`${this.key} ledger`, work) : work()));
    this.#last = result.then(() => {}, () => {});
    return result;
  }
}

/** @param {Entry[]} entries */
const spent = (entries) => entries.reduce((total, { ratio }) => total.times(Ratio.parse(ratio)), new Ratio(1n));
