// Where a ledger lives: anything with `get` and `set`.

/** @typedef {{ get(key: string): any, set(key: string, text: string): any }} Storage values or promises of them */

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
