// The person's own ledger: what every answer cost, exactly, and the secret that gives the same answer to the same question.
import { Entropy, hex, unhex } from "./entropy.js";
import { DiscreetError, PrivacyError } from "./errors.js";
import { Ratio } from "./exact.js";

/** @typedef {import("./mechanism.js").Mechanism} Mechanism */
/** @typedef {{ get(key: string): any, set(key: string, text: string): any }} Storage values or promises of them */
/** @typedef {{ task: string, mechanism: string, name: string, ratio: string, epsilon: number, mark: string, id: string }} Entry */
/** @typedef {{ secret: string, entries: Entry[] }} Book */

/** Forgets when the page closes: for tests. */
export class MemoryStorage {
  #texts = new Map();
  /** @param {string} key */
  get(key) {
    return this.#texts.get(key) ?? null;
  }
  /** @param {string} key @param {string} text */
  set(key, text) {
    this.#texts.set(key, text);
  }
}

/** The browser's localStorage. */
export class BrowserStorage {
  /** @param {string} key */
  get(key) {
    return localStorage.getItem(key);
  }
  /** @param {string} key @param {string} text */
  set(key, text) {
    localStorage.setItem(key, text);
  }
}

/**
 * Answers questions within a budget. Privacy losses compose by multiplying the exact ratios; an answer that would bring
 * their product above e^limit is refused. The words of an answer come from HMAC(secret, task, mechanism, id, input): asked
 * again with the same value, a person sends the same report under the same id, at no cost.
 */
export class Ledger {
  #last = Promise.resolve();

  /** @param {{ storage: Storage, limit: number, key?: string }} options limit: the most epsilon that the owner ever spends */
  constructor({ storage, limit, key = "discreet" }) {
    if (typeof limit !== "number" || !(limit >= 0 && limit <= 1000)) {
      throw new DiscreetError(`limit is ${limit}; allowed is a number from 0 to 1000`);
    }
    this.storage = storage;
    this.limit = limit;
    this.key = key;
  }

  /**
   * Privatise an answer and charge for it before it can be sent.
   * @param {string} task campaign and round: the same text for the same question
   * @param {Mechanism} mechanism
   * @param {number | string} value
   * @param {{ encoder?: { encode(value: any): number }, id?: Uint8Array }} [options] encoder: none if the value is a
   *   canonical input; id: the report's id where the collector issues it
   */
  answer(task, mechanism, value, { encoder, id } = {}) {
    return this.#alone(async () => {
      const input = mechanism.check(encoder ? encoder.encode(value) : /** @type {number} */ (value)) + 0; // -0 is 0
      const book = await this.#open();
      const stream = (/** @type {string} */ name) => Entropy.memoised(unhex(book.secret), name, input);
      const question = `${task}\0${mechanism.id}`;
      const mark = hex(await stream(question).read(16)); // tells the same answer again, and nothing else
      let entry = book.entries.find((old) => old.mark === mark);
      const isNew = !entry;
      entry ??= await this.#charge(book, task, mechanism, mark, id ? hex(id) : mark);
      const reportId = unhex(entry.id);
      // Words depend on the id: under another id, with another public coin, they must not be used again.
      const draw = { entropy: stream(`${question}\0${entry.id}`), publicWord: await mechanism.publicWord(reportId) };
      return { id: reportId, report: mechanism.pack(await mechanism.privatize(input, draw)), isNew };
    });
  }

  /** What was answered, what it cost together (rounded up), and the limit. */
  statement() {
    return this.#alone(async () => {
      const { entries } = await this.#open();
      return { entries, epsilon: spent(entries).epsilon, limit: this.limit };
    });
  }

  /** @param {Book} book @param {string} task @param {Mechanism} mechanism @param {string} mark @param {string} id */
  async #charge(book, task, { id: mechanism, name, certificate: { ratio, epsilon } }, mark, id) {
    const total = spent(book.entries).times(ratio);
    if (!total.within(this.limit)) {
      throw new PrivacyError(`this answer would bring epsilon to ${total.epsilon}; the owner allows ${this.limit}`);
    }
    const entry = { task, mechanism, name, ratio: `${ratio}`, epsilon, mark, id };
    await this.storage.set(this.key, JSON.stringify({ ...book, entries: [...book.entries, entry] }));
    return entry;
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
