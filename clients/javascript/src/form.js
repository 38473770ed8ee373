// Form: the questions of a round as this device asks them, and the row that a person's answers become. The rules, and
// the order of symbols, are those of Python (plans/questionnaire/form.py).
import { readCondition } from "./conditions.js";
import { Answers, Attribute, Interval, NumberOrRefusal, readEncoder } from "./encoders.js";
import { WireError } from "./errors.js";
import { plain } from "./wire.js";

export const REFUSED = "prefer not to say";
export const ABSENT = "does not apply";
const MOST_QUESTIONS = 1024;
const MOST_LABELS = 1024;
const MOST_TICKS = 46;
const MOST_ITEMS = 64;
const SHARED = ["kind", "name", "text", "when", "refusal"];
/** @type {Record<string, string[]>} */
const OWN = { choice: ["options"], number: ["low", "high"], ticks: ["options", "most", "groups", "set"] };

/**
 * @typedef {object} Question
 * @property {"choice" | "number" | "ticks"} kind
 * @property {string} name
 * @property {string} text as people read it; the name if it is empty
 * @property {string | null} when
 * @property {boolean} refusal
 * @property {any[]} options
 * @property {number} low
 * @property {number} high
 * @property {number | null} most
 * @property {number[][]} groups
 * @property {boolean} set
 * @property {string[]} extras the symbols besides the options
 * @property {string[]} needs the questions that `when` is about
 * @property {(answers: Record<string, any>) => boolean} applies
 * @property {(label: any) => number | undefined} place of a label
 */
/** @typedef {{ question: Question, options: number[], symbols: number }} Column */

export class Form {
  /** @param {Question[]} questions */
  constructor(questions) {
    this.questions = questions;
    /** @type {Column[]} */
    this.columns = questions.flatMap((question) => {
      const extras = question.extras.length;
      if (question.kind === "number") return [{ question, options: [], symbols: 0 }];
      if (question.kind === "choice") return [{ question, options: [], symbols: question.options.length + extras }];
      return question.groups.map((options) => ({ question, options, symbols: question.set ? 2 ** (options.length + extras) : 2 ** options.length + extras }));
    });
  }

  /** Read the questions of a round's document, or say what is wrong with them. @param {any} listed */
  static read(listed) {
    if (!Array.isArray(listed) || listed.length < 1 || listed.length > MOST_QUESTIONS) throw new WireError(`questions must be a list of 1 to ${MOST_QUESTIONS} questions`);
    const form = new Form(listed.map(readQuestion));
    const names = new Set(form.questions.map(({ name }) => name));
    if (names.size !== listed.length) throw new WireError("questions must have different names");
    for (const { name, needs } of form.questions) {
      if (needs.some((one) => one === name || !names.has(one))) throw new WireError(`when of '${name}' must be about other questions of the form`);
    }
    return form;
  }

  /** The columns that a channel's encoder reads. @param {any} encoder @returns {number[]} */
  asked(encoder) {
    if (encoder instanceof Answers) return encoder.columns;
    if (encoder instanceof Attribute || encoder instanceof NumberOrRefusal) return [encoder.index];
    throw new WireError("a channel of a questionnaire must read columns of a row");
  }

  /** Refuse an encoder that reads other columns, or other symbols, than the form has. @param {any} encoder */
  check(encoder) {
    const own = this.asked(encoder).map((place) => this.columns[place]);
    const fits = own.every(Boolean) && (encoder instanceof Answers
      ? own.every(({ symbols }, i) => symbols === encoder.encoders[i].size)
      : own[0].symbols === 0 && encoder instanceof NumberOrRefusal === own[0].question.extras.length > 0);
    if (!fits) throw new WireError("a channel reads other columns, or other symbols, than the questions have");
  }

  /**
   * The row of one person's answers by name: a label, a number, a list of labels; null, or no answer, is a refusal. An
   * answer that cannot be read becomes an entry that every encoder replaces by a constant. Never throws.
   * @param {Record<string, any>} answers @returns {any[]}
   */
  row(answers) {
    return this.columns.map((column) => {
      try {
        return entryOf(column, answers);
      } catch {
        return [];
      }
    });
  }
}

/** @param {Column} column @param {Record<string, any>} answers */
function entryOf({ question, options }, answers) {
  const held = Object.hasOwn(answers, question.name) ? answers[question.name] : null;
  const extra = !question.applies(answers) || (held === ABSENT && question.kind !== "number") ? ABSENT : isMissing(held) ? REFUSED : null;
  const place = extra === null ? -1 : question.extras.indexOf(extra);
  if (extra !== null && place < 0) throw new WireError("not an answer to this question");
  if (question.kind === "number") {
    if (place >= 0) return null;
    if (!Number.isFinite(held)) throw new WireError("not a number");
    return held;
  }
  if (question.kind === "choice") {
    const found = place < 0 ? question.place(held) : question.options.length + place;
    if (found === undefined) throw new WireError("not an option");
    return found;
  }
  if (place >= 0) return question.set ? 2 ** (question.options.length + place) : 2 ** options.length + place;
  if (!Array.isArray(held)) throw new WireError("not a list of options");
  const ticked = new Set(held.map(question.place));
  if (ticked.has(undefined)) throw new WireError("not an option");
  return options.reduce((sum, option, rank) => sum + (ticked.has(option) ? 2 ** rank : 0), 0);
}

/** @param {any} held */
const isMissing = (held) => held === null || held === undefined || Number.isNaN(held) || held === REFUSED;

/** @param {any} document @returns {Question} */
function readQuestion(document) {
  const kind = document?.kind;
  if (typeof kind !== "string" || !Object.hasOwn(OWN, kind)) throw new WireError("kind of a question must be choice, number or ticks");
  const expected = [...SHARED, ...OWN[kind]];
  if (Object.keys(document).length !== expected.length || !expected.every((key) => Object.hasOwn(document, key))) {
    throw new WireError(`a question of the kind ${kind} must have the fields ${expected.join(", ")}`);
  }
  const { name, text, when, refusal } = document;
  if (typeof name !== "string" || !name.trim()) throw new WireError("name of a question must be a text");
  if (typeof text !== "string" || typeof refusal !== "boolean") throw new WireError("text of a question must be a text, and refusal true or false");
  const { names: needs, holds: applies } = when === null ? { names: [], holds: () => true } : readCondition(when);
  const extras = [...(refusal ? [REFUSED] : []), ...(when === null ? [] : [ABSENT])];
  const found = { kind, name, text, when, refusal, extras, needs, applies, options: [], low: 0, high: 0, most: null, groups: [], set: false, place: () => undefined };
  if (kind === "number") {
    const [low, high] = [plain(document.low), plain(document.high)];
    new Interval(low, high); // refuses ends that are none
    return { ...found, low, high };
  }
  return { ...found, ...optionsOf(kind, name, document.options), ...(kind === "ticks" ? ticksOf(document, extras.length) : {}) };
}

/** @param {string} kind @param {string} name @param {any} labels */
function optionsOf(kind, name, labels) {
  const { labels: options } = readEncoder({ kind: "categories", labels });
  const most = kind === "choice" ? MOST_LABELS : MOST_TICKS;
  if (options.length > most || options.includes(REFUSED) || options.includes(ABSENT)) {
    throw new WireError(`options of '${name}' must be at most ${most}, none of them "${REFUSED}" or "${ABSENT}"`);
  }
  const truth = (/** @type {any} */ label) => (typeof label === "boolean" ? Number(label) : label);
  const places = new Map(options.map((/** @type {any} */ label, /** @type {number} */ i) => [truth(label), i]));
  if (kind === "choice" && options.length === 2 && places.has("yes") && places.has("no")) {
    places.set(1, places.get("yes")).set(0, places.get("no"));
  }
  return { options, place: (/** @type {any} */ label) => places.get(truth(label)) };
}

/** @param {any} document @param {number} extras */
function ticksOf({ name, options, most, groups, set }, extras) {
  const count = options.length;
  const isWhole = (/** @type {any} */ n, /** @type {number} */ low, /** @type {number} */ high) => Number.isSafeInteger(n) && n >= low && n <= high;
  if (most !== null && !isWhole(most, 1, count)) throw new WireError(`most of '${name}' must be a whole number from 1 to ${count}`);
  const isGroups = Array.isArray(groups) && groups.every((group) => Array.isArray(group) && group.length);
  const members = isGroups ? groups.flat() : [];
  if (!isGroups || members.length !== count || new Set(members).size !== count || !members.every((one) => isWhole(one, 0, count - 1))) {
    throw new WireError(`groups of '${name}' must have each of its ${count} options once`);
  }
  if (typeof set !== "boolean" || (set && (most === null || groups.length !== 1 || count + 2 + most > MOST_ITEMS))) {
    throw new WireError(`set of '${name}' must be true or false; a set has most, and one group`);
  }
  if (Math.max(...groups.map((group) => group.length)) + extras > 48) throw new WireError(`a group of '${name}' must have at most 48 options and further symbols`);
  return { most, groups, set };
}
