// Where a ledger lives: anything with `get` and `set`, and `alone` where several objects or tabs share it.
import { DiscreetError } from "./errors.js";

/**
 * @typedef {object} Storage values, or promises of them
 * @property {(key: string) => any} get
 * @property {(key: string, text: string) => any} set
 * @property {<T>(key: string, work: () => Promise<T>) => Promise<T>} [alone] do some work while nobody else does any under this key
 */

/** The last work of each storage object, by key. @type {WeakMap<object, Map<string, Promise<any>>>} */
const queues = new WeakMap();

/**
 * Do some work while nobody else uses the storage: by its own lock, or after all other work with the same object.
 * @template T
 * @param {Storage} storage @param {string} key @param {() => Promise<T>} work @returns {Promise<T>}
 */
export function alone(storage, key, work) {
  if (storage.alone) return storage.alone(key, work);
  const queue = queues.get(storage) ?? new Map();
  queues.set(storage, queue);
  const result = (queue.get(key) ?? Promise.resolve()).then(work);
  queue.set(key, result.catch(() => {}));
  return result;
}

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

/** The browser's localStorage, one tab at a time. */
export class BrowserStorage {
  /** @param {string} key */
  get(key) {
    return localStorage.getItem(key);
  }
  /** @param {string} key @param {string} text */
  set(key, text) {
    localStorage.setItem(key, text);
  }
  /** @template T @param {string} key @param {() => Promise<T>} work @returns {Promise<T>} */
  async alone(key, work) {
    const locks = globalThis.navigator?.locks;
    if (!locks) throw new DiscreetError("navigator.locks is missing, so two tabs could spend the same budget; a page needs https (or localhost)", "insecure");
    return locks.request(`${key} ledger`, work);
  }
}
