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
/** @typedef {{ version: number, limit: number, secret?: string, entries: Entry[] }} Book secret: only while an entry has a mark */
/** @typedef {{ secret(): Promise<Uint8Array<ArrayBuffer>>, entries: readonly Entry[], charge(charge: Charge): Promise<Entry>, keep(entry: Entry, kept: Kept): Promise<void>, settle(settled: Entry[]): Promise<void> }} Account */

const VERSION = 3;
/** Tasks that `answerRound` charges: a campaign and a round. */
const CAMPAIGN = /^[0-9a-f]{32} /;
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
   * Do some work while nobody else uses the ledger. `charge` adds an entry, `keep` sets what waits to be sent, and
   * `settle` drops everything of entries but their cost; each is stored before its promise is kept. `secret` makes one
   * where there is none.
   * @template T
   * @param {(account: Account) => Promise<T>} work
   */
  transact(work) {
    return this.#alone(async () => {
      const book = await this.#open();
      return work({
        secret: async () => {
          const secret = book.secret ?? hex(crypto.getRandomValues(new Uint8Array(32)));
          if (!book.secret) await this.#write({ ...book, secret });
          book.secret = secret;
          return unhex(secret);
        },
        entries: book.entries,
        charge: (charge) => this.#charge(book, charge),
        keep: async (entry, kept) => {
          await this.#write({ ...book, entries: book.entries.map((one) => (one === entry ? { ...one, kept } : one)) });
          entry.kept = kept;
        },
        settle: (settled) => this.#write(withoutTraces(book, (entry) => settled.includes(entry))),
      });
    });
  }

  /** @param {Book} book @param {Charge} charge */
  async #charge(book, { ratio, ...named }) {
    if (book.entries.some(({ id }) => id === named.id)) {
      throw new PrivacyError("this report id was charged before; it never makes a second report", "charged");
    }
    const total = spent(book.entries).times(ratio);
    if (!total.within(Ratio.decimal(book.limit))) {
      throw new PrivacyError(`this answer would bring epsilon to ${total.epsilon}; the owner allows ${book.limit}`, "limit", { epsilon: total.epsilon, limit: book.limit });
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
    if (text !== null && text !== undefined) {
      const book = this.#read(text);
      const clean = withoutTraces(book, ({ task, kept }) => CAMPAIGN.test(task) && !kept);
      if (book.isOld) await this.#write(clean); // at once: until then a guess could be tested against the old secret
      return clean;
    }
    if (this.limit === undefined) throw new DiscreetError("there is no ledger here; a new one needs its limit");
    const book = { version: VERSION, limit: this.limit, entries: [] };
    await this.#write(book);
    return book;
  }

  /** A ledger that cannot be read is never used, and never replaced by a new one. @param {any} text @returns {Book & { isOld: boolean }} */
  #read(text) {
    let book;
    try {
      book = JSON.parse(text);
    } catch {
      book = null;
    }
    const isOld = book !== null && typeof book === "object" && book.version !== VERSION;
    // Before version 2 the limit was not written: it must be given. Before version 3 there always was a secret.
    if (book?.secret && book.version === undefined && book.limit === undefined) {
      book = { version: VERSION, limit: this.limit, secret: book.secret, entries: book.entries?.map?.((/** @type {any} */ entry) => ({ kept: null, ...entry })) };
    }
    if (book?.secret && book.version === 2) book = { ...book, version: VERSION };
    const isSecret = book?.secret === undefined || /^[0-9a-f]{64}$/.test(book.secret);
    if (book?.version !== VERSION || !isLimit(book.limit) || !isSecret || !Array.isArray(book.entries) || !book.entries.every(isEntry)) {
      throw new DiscreetError("the ledger here is damaged, or lacks its limit; a damaged ledger is never used", "ledger");
    }
    if (this.limit !== undefined && this.limit !== book.limit) {
      throw new DiscreetError(`limit must be ${book.limit}, which the ledger here was made with, not ${this.limit}; its owner can change it with changeLimit`);
    }
    return { ...book, isOld };
  }

  /** @template T @param {() => Promise<T>} work @returns {Promise<T>} */
  #alone(work) {
    return alone(this.storage, this.key, work);
  }
}

/**
 * The book after some entries are settled: their costs and ids stay, but nothing that depends on the value or could test
 * a guess of it. The secret goes with the last mark.
 * @param {Book} book @param {(entry: Entry) => boolean} isSettled @returns {Book}
 */
function withoutTraces({ version, limit, secret, entries }, isSettled) {
  const left = entries.map((entry) => (isSettled(entry) ? { ...entry, mark: "", kept: entry.kept === undefined ? undefined : null } : entry));
  return { version, limit, ...(left.some(({ mark }) => mark) ? { secret } : {}), entries: left };
}

/** @param {any} entry */
function isEntry(entry) {
  return entry !== null && typeof entry === "object" && TEXTS.every((field) => typeof entry[field] === "string") && /^[1-9]\d*\/[1-9]\d*$/.test(entry.ratio);
}

/** @param {Entry[]} entries */
const spent = (entries) => entries.reduce((total, { ratio }) => total.times(Ratio.parse(ratio)), new Ratio(1n));
