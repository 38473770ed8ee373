// Conditions: who a question is asked of, decided on this device from the person's own answers, as in Python:
//
//     drinks = 'yes' and ({age} >= 18 or {student} = true)
import { WireError } from "./errors.js";

/** @typedef {(answers: Record<string, any>) => boolean} Test */

const TOKEN = /[ \t\r\n]*(?:(?<bracket>[()])|\{(?<name>[^{}]+)\}|(?<sign><=|>=|==|!=|<>|=|<|>)|'(?<single>[^']*)'|"(?<double>[^"]*)"|(?<number>-?[0-9]+(?:\.[0-9]+)?)(?![\p{L}\p{N}_.])|(?<word>(?!\p{Nd})[\p{L}\p{N}_]+))/uy;
const NUMBER = /^-?[0-9]+(\.[0-9]+)?$/;
const WORDS = new Map(Object.entries({ true: true, false: false, yes: "yes", no: "no" }));
const TRUTHS = new Map(Object.entries({ yes: true, no: false, true: true, false: false }));
const LONGEST = 2000;
const DEEPEST = 16;

/** How two values must be ordered: below is -1. @type {Record<string, (order: number) => boolean>} */
const SIGNS = {
  "=": (order) => order === 0,
  "!=": (order) => order !== 0,
  "<": (order) => order < 0,
  "<=": (order) => order <= 0,
  ">": (order) => order > 0,
  ">=": (order) => order >= 0,
};
SIGNS["=="] = SIGNS["="];
SIGNS["<>"] = SIGNS["!="];

/**
 * Read a condition: the names it is about, and whether answers fulfil it.
 * @param {any} text @returns {{ names: string[], holds: Test }}
 */
export function readCondition(text) {
  if (typeof text !== "string" || [...text].length > LONGEST) throw new WireError(`when must be a text of at most ${LONGEST} characters`);
  const fail = () => new WireError("when must compare answers, such as \"drinks = 'yes' and {age} >= 18\"");
  /** @type {[kind: string, text: string][]} */
  const tokens = [];
  TOKEN.lastIndex = 0;
  for (let place = 0; /[^ \t\r\n]/.test(text.slice(place)); place = TOKEN.lastIndex) {
    const groups = TOKEN.exec(text)?.groups;
    if (!groups) throw fail();
    tokens.push(/** @type {[string, string]} */ (Object.entries(groups).find(([, found]) => found !== undefined)));
  }
  /** @type {string[]} */
  const names = [];
  let depth = 0;
  const take = (/** @type {string[]} */ ...kinds) => {
    if (!tokens.length || !kinds.includes(tokens[0][0])) throw fail();
    return /** @type {[string, string]} */ (tokens.shift());
  };
  /** Parts between a word. @param {string} word @param {() => Test} part @returns {Test[]} */
  const parts = (word, part) => {
    const found = [part()];
    while (tokens[0]?.[0] === "word" && tokens[0][1].toLowerCase() === word) {
      tokens.shift();
      found.push(part());
    }
    return found;
  };
  /** @type {() => Test} */
  const either = () => any(parts("or", both));
  /** @type {() => Test} */
  const both = () => all(parts("and", one));
  /** @type {() => Test} */
  const one = () => {
    const [kind, name] = take("bracket", "name", "word");
    if (kind === "bracket") {
      if (name !== "(" || ++depth > DEEPEST) throw fail();
      const inner = either();
      depth--;
      if (take("bracket")[1] !== ")") throw fail();
      return inner;
    }
    if (["and", "or"].includes(name.toLowerCase())) throw fail();
    const fits = SIGNS[take("sign")[1]];
    const [of, written] = take("single", "double", "number", "word");
    if (of === "word" && !WORDS.has(written.toLowerCase())) throw fail();
    const wanted = of === "number" ? Number(written) : of === "word" ? WORDS.get(written.toLowerCase()) : written;
    const bare = name.replace(/^[ \t\r\n]+|[ \t\r\n]+$/g, "");
    names.push(bare);
    return (answers) => {
      const held = Object.hasOwn(answers, bare) ? answers[bare] : null;
      if (!["string", "boolean", "number"].includes(typeof held) || Number.isNaN(held)) return false; // no answer, and no list, fulfils anything
      return fits(order(held, wanted));
    };
  };
  const holds = either();
  if (tokens.length) throw fail();
  return { names: [...new Set(names)], holds };
}

/** @param {Test[]} parts @returns {Test} */
const any = (parts) => (answers) => parts.some((part) => part(answers));
/** @param {Test[]} parts @returns {Test} */
const all = (parts) => (answers) => parts.every((part) => part(answers));

/** How two values are ordered: as truths, texts or numbers; NaN, which is only unequal, if they are of different kinds. @param {any} held @param {any} wanted */
function order(held, wanted) {
  if (typeof held === "boolean" || typeof wanted === "boolean") [held, wanted] = [held, wanted].map((one) => TRUTHS.get(String(one).toLowerCase()) ?? one);
  if (typeof held === "string" && typeof wanted === "string") {
    const [a, b] = [held, wanted].map((one) => [...one].map((c) => c.codePointAt(0)));
    const place = a.findIndex((code, i) => code !== b[i]);
    return place < 0 ? a.length - b.length : Number(a[place]) - Number(b[place] ?? -1);
  }
  return numeric(held) - numeric(wanted);
}

/** @param {any} value */
const numeric = (value) => (typeof value !== "string" || NUMBER.test(value) ? Number(value) : NaN);
