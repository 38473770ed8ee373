import { DiscreetError } from "./errors.js";

/** @typedef {Uint8Array<ArrayBuffer>} Bytes */

/** @param {Uint8Array} bytes */
export const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
/** @param {string} text */
export const unhex = (text) => Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));
/** @param {string} text */
export const utf8 = (text) => new TextEncoder().encode(text);
/** @param {Uint8Array[]} parts */
export const joined = (...parts) => Uint8Array.from(parts.flatMap((part) => [...part]));
/** @param {Bytes} data */
export const sha256 = async (data) => new Uint8Array(await subtle().digest("SHA-256", data));

function subtle() {
  if (!globalThis.crypto?.subtle) throw new DiscreetError("WebCrypto is missing; a page needs https (or localhost)", "insecure");
  return crypto.subtle;
}

/**
 * The only source of randomness: the keystream of AES-256-CTR, its counter from zero. The same key gives the same words
 * in Python. `new Entropy()` has a key of the system; the others are for test vectors and memoised answers.
 */
export class Entropy {
  #key;
  #position = 0;

  /** @param {Bytes | Promise<Bytes>} [key] 32 bytes, never to be used twice */
  constructor(key) {
    /** Whether its words can be made again from a key or a seed. */
    this.isReproducible = key !== undefined;
    key ??= crypto.getRandomValues(new Uint8Array(32));
    this.#key = Promise.resolve(key).then((bytes) => {
      if (bytes.length !== 32) throw new DiscreetError(`key must have 32 bytes, not ${bytes.length}`);
      return subtle().importKey("raw", bytes, "AES-CTR", false, ["encrypt"]);
    });
    this.#key.catch(() => {}); // told by read()
  }

  /** A reproducible stream: for tests only, it protects nobody. @param {number} seed */
  static seeded(seed, stream = 0) {
    if (![seed, stream].every((number) => Number.isSafeInteger(number) && number >= 0)) {
      throw new DiscreetError(`seed and stream must be whole numbers from 0, not ${seed} and ${stream}`);
    }
    return new Entropy(sha256(utf8(`discreet simulation ${seed} ${stream}`)));
  }

  /**
   * The stream of one person's answer to one question: asked again with the same value, they send the same report.
   * @param {Bytes} secret at least 16 random bytes, which never leave the device
   * @param {string} task
   * @param {number | string} value
   */
  static memoised(secret, task, value) {
    if (secret.length < 16) throw new DiscreetError("secret must have at least 16 random bytes");
    const name = utf8(task);
    const length = new Uint8Array(4);
    new DataView(length.buffer).setUint32(0, name.length, true);
    const message = joined(length, name, utf8(typeof value === "string" ? `text ${value}` : `number ${floatHex(value)}`));
    const hmac = { name: "HMAC", hash: "SHA-256" };
    const key = subtle().importKey("raw", secret, hmac, false, ["sign"]);
    return new Entropy(key.then(async (k) => new Uint8Array(await subtle().sign("HMAC", k, message))));
  }

  /** The next bytes of the keystream. @param {number} count */
  async read(count) {
    const start = this.#position;
    this.#position += count; // before any await: no two readers get the same bytes
    const counter = new DataView(new ArrayBuffer(16));
    counter.setBigUint64(8, BigInt(Math.floor(start / 16)));
    const zeros = new Uint8Array((start % 16) + count);
    const stream = await subtle().encrypt({ name: "AES-CTR", counter, length: 128 }, await this.#key, zeros);
    return new Uint8Array(stream, start % 16);
  }

  /** A fresh 128-bit report id, unlinkable to anything. */
  reportId() {
    return this.read(16);
  }
}

/** 64-bit words, little-endian, read as JavaScript numbers. */
export class Words {
  /** @param {Uint8Array} bytes */
  constructor(bytes) {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset);
  }

  /** @param {number} i */
  low32(i) {
    return this.view.getUint32(8 * i, true);
  }

  /** @param {number} i */
  high32(i) {
    return this.view.getUint32(8 * i + 4, true);
  }

  /** The upper 48 bits, which samplers compare with weights. @param {number} i */
  top(i) {
    return this.high32(i) * 65536 + (this.low32(i) >>> 16);
  }

  /** A whole number in 0..bound-1: word * bound / 2^64, rounded down. @param {number} i @param {number} bound */
  below(i, bound) {
    return Number((this.view.getBigUint64(8 * i, true) * BigInt(bound)) >> 64n);
  }
}

/** As Python's float.hex. @param {number} x */
function floatHex(x) {
  if (!Number.isFinite(x)) throw new DiscreetError("a memoised answer must belong to a text or a finite number");
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, x);
  const bits = view.getBigUint64(0);
  const exponent = Number((bits >> 52n) & 2047n);
  const power = x === 0 ? 0 : exponent ? exponent - 1023 : -1022;
  const digits = x === 0 ? "0" : (bits & ((1n << 52n) - 1n)).toString(16).padStart(13, "0");
  return `${bits >> 63n ? "-" : ""}0x${exponent ? 1 : 0}.${digits}p${power < 0 ? "" : "+"}${power}`;
}
