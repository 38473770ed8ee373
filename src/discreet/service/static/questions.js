// A questionnaire: the questions of this person's block on one page. What is entered stays here; the answers of the
// block are one input of one channel.
import { $, el } from "./dom.js";
import { fieldOf, shown } from "./fields.js";
import { say } from "./words.js";

/** @typedef {import("./client/form.js").Form} Form */
/** @typedef {import("./client/form.js").Column} Column */

const MOST_MEANINGS = 4096;

/**
 * A channel of a questionnaire with what the page needs: `single` encodes somebody's answers by name, `meanings` says
 * what each of its reports stands for, `columns` what it asks.
 * @param {Form} form @param {import("./client/round.js").Channel} channel
 */
export function block(form, channel) {
  const columns = form.asked(channel.encoder).map((place) => form.columns[place]);
  const single = { encode: (/** @type {any} */ answers) => /** @type {any} */ (channel.encoder).encodeTotal(form.row(answers)).input };
  const [{ question, symbols }] = columns;
  const interval = symbols === 0 ? { low: question.low, high: question.high } : null;
  const meanings = question.set ? items(question, /** @type {any} */ (channel.mechanism)) : combined(columns);
  return { ...channel, attribute: null, single, interval, labels: null, meanings, columns, name: columns.length > 1 ? say("in-order") : $("legend").textContent };
}

/** What the members of a set stand for: options, further symbols, and blanks that fill it up. */
const items = (question, { most }) => [...question.options.map(String), ...question.extras.map(shown), ...Array.from({ length: most }, (_, i) => say("blank", { place: i + 1 }))];

/** What each combination of symbols says, the first changing slowest; null if there are too many. @param {Column[]} columns */
function combined(columns) {
  if (columns[0].symbols === 0 || columns.reduce((product, { symbols }) => product * symbols, 1) > MOST_MEANINGS) return null;
  return columns.map(symbolsOf).reduce((all, own) => all.flatMap((one) => own.map((symbol) => (one ? `${one}, ${symbol}` : symbol))), [""]);
}

/** @param {Column} column @returns {string[]} */
function symbolsOf({ question, options }) {
  const sets = (/** @type {number} */ i) => options.filter((_, rank) => (i >> rank) & 1).map((option) => question.options[option]).join(" + ") || say("no-tick");
  const own = question.kind === "choice" ? question.options.map(String) : Array.from({ length: 2 ** options.length }, (_, i) => sets(i));
  return [...own, ...question.extras.map(shown)];
}

/** @param {import("./client/form.js").Question} question */
export const title = ({ text, name }) => text || name;

/**
 * The fields of a block: its questions in order, and those that its conditions need, which are not sent.
 * @param {Form} form @param {Column[]} columns
 * @returns {{ nodes: Element[], value(): Record<string, any> | null, changed(): void }} value: answers by name, null if one is missing
 */
export function blockFields(form, columns) {
  const own = new Set(columns.map(({ question }) => question));
  const needed = closure(form, [...own]);
  const asked = form.questions.filter((question) => own.has(question) || needed.has(question));
  const parts = asked.map((question, i) => {
    const options = columns.filter((column) => column.question === question).flatMap((column) => column.options);
    const field = fieldOf(question, options.length ? options.sort((a, b) => a - b) : null, `value${i ? `-${i + 1}` : ""}`);
    const stays = own.has(question) ? [] : [el("p", { class: "quiet" }, say("stays-here"))];
    const isPart = options.length > 0 && options.length < question.options.length;
    const some = isPart ? [el("p", { class: "quiet" }, say("some-options", { some: options.length, count: question.options.length }))] : [];
    const body = el("div", {}, ...stays, ...some, ...field.nodes);
    const absent = el("p", { class: "quiet", hidden: "" }, say("not-you"));
    return { question, field, body, absent, node: el("fieldset", { class: "asked" }, el("legend", { dir: "auto" }, title(question)), body, absent) };
  });
  /** What was entered, without what no longer applies: it may have been entered before another answer changed. */
  const answers = () => {
    const found = parts.map(({ question, field }) => [question, field.value()]).filter(([, value]) => value !== null);
    /** @type {Record<string, any>} */
    let given = {};
    for (let left = found; ; left = left.filter(([question]) => question.applies(given))) {
      given = Object.fromEntries(left.map(([question, value]) => [question.name, value]));
      if (left.every(([question]) => question.applies(given))) return given;
    }
  };
  const value = () => {
    const given = answers();
    return parts.every(({ question }) => !question.applies(given) || Object.hasOwn(given, question.name)) ? given : null;
  };
  const changed = () => {
    const given = answers();
    for (const { question, body, absent, node } of parts) {
      const applies = question.applies(given);
      body.hidden = !applies;
      absent.hidden = applies || !own.has(question);
      node.hidden = !applies && !own.has(question);
    }
  };
  return { nodes: parts.map(({ node }) => node), value, changed };
}

/** The questions that conditions are about, and those that theirs are. @param {Form} form @param {import("./client/form.js").Question[]} questions */
function closure(form, questions) {
  const found = new Set();
  const waiting = [...questions];
  for (let one = waiting.pop(); one; one = waiting.pop()) {
    for (const question of form.questions.filter(({ name }) => one.needs.includes(name))) {
      if (!found.has(question)) waiting.push(question);
      found.add(question);
    }
  }
  return found;
}

/** How much of the survey a person is asked. @param {Form} form @param {Column[]} columns */
export function partWords(form, columns) {
  const [asked, all] = [new Set(columns.map(({ question }) => question)).size, form.questions.length];
  return asked === all ? "" : say("some-questions", { some: asked, count: all });
}
