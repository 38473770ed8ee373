// The fields of the form: a number with a slider, one of some choices, ticks. Each has `nodes` and `value()`, null if
// nothing was answered; a refusal is an answer.
import { ABSENT, REFUSED } from "./client/index.js";
import { $, el, number } from "./dom.js";
import { say } from "./words.js";

/** @typedef {{ nodes: Element[], value(): any }} Field */

/** The field of a channel. @param {{ labels: any[] | null, interval: any, parts?: any[] }} channel @param {string} id @param {string} name @param {string[]} [names] of its parts @returns {Field} */
export const fieldFor = ({ labels, interval, parts }, id, name, names = []) =>
  parts ? several(parts, id, names) : labels ? choices(labels, id, name) : slider(interval, id, name);

/** One field for each of several answers that make one report; their value is a row. */
function several(parts, id, names) {
  const named = (i) => names[i] ?? say("answer-of", { part: i + 1 });
  const fields = parts.map((part, i) => fieldFor(part, i ? `${id}-${i + 1}` : id, named(i)));
  const value = () => {
    const row = fields.map((field) => field.value());
    return row.includes(null) ? null : row;
  };
  return { nodes: fields.flatMap(({ nodes }, i) => [el("p", { class: "part" }, named(i)), ...nodes]), value };
}

function slider({ low, high }, id, name) {
  const { unit } = $("form").dataset;
  const span = high - low;
  const isWhole = Number.isInteger(low) && Number.isInteger(high) && span >= 10;
  const step = isWhole ? Math.max(1, Math.round(span / 200)) : span / 200;
  const box = el("input", { type: "number", id, class: "answer", min: low, max: high, step: "any", inputmode: "decimal", "aria-label": unit ? `${name} (${unit})` : name, autocomplete: "off" });
  const bar = el("input", { type: "range", id: `${id}-slide`, min: low, max: high, step, "aria-label": say("about", { name }), class: "untouched" });
  bar.value = (low + high) / 2;
  bar.addEventListener("input", () => {
    box.value = isWhole ? String(Math.round(bar.valueAsNumber)) : String(Number(bar.valueAsNumber.toPrecision(4)));
    bar.classList.remove("untouched");
  });
  box.addEventListener("input", () => {
    if (box.value !== "") bar.value = box.value;
    bar.classList.toggle("untouched", box.value === "");
  });
  const ends = el("div", { class: "ticks", "aria-hidden": "true" }, ...[low, high].map((end) => el("span", {}, unit ? `${number(end, 9)} ${unit}` : number(end, 9))));
  const value = () => (box.value === "" || !Number.isFinite(box.valueAsNumber) ? null : box.valueAsNumber);
  return { nodes: [box, bar, ends], value };
}

function choices(labels, id, name, shown = String) {
  if (labels.length > 12) {
    const list = el("select", { id, "aria-label": name, autocomplete: "off" }, el("option", { value: "" }, say("choose")));
    list.append(...labels.map((label, i) => el("option", { value: i }, shown(label))));
    return { nodes: [list], value: () => (list.value === "" ? null : labels[Number(list.value)]) };
  }
  const options = labels.map((label, i) => {
    const radio = el("input", { type: "radio", name: id, value: i, autocomplete: "off" });
    return el("label", { class: "choice", dir: "auto" }, radio, shown(label));
  });
  const value = () => {
    const chosen = options.findIndex((option) => option.firstChild.checked);
    return chosen < 0 ? null : labels[chosen];
  };
  return { nodes: options, value };
}

/**
 * The field of a question of a form, and whether it applies at all.
 * @param {import("./client/form.js").Question} question @param {number[] | null} options which of its ticks are asked; null for all
 * @param {string} id @returns {Field}
 */
export function fieldOf(question, options, id) {
  const name = question.text || question.name;
  if (question.kind === "ticks") return ticks(question, options ?? question.options.map((_, i) => i), id);
  if (question.kind === "choice") {
    const field = choices([...question.options, ...(question.refusal ? [REFUSED] : [])], id, name, shown);
    const count = question.options.length;
    if (field.nodes.length >= count && question.options.every((option) => typeof option === "number")) {
      return { ...field, nodes: [el("div", { class: "scale" }, ...field.nodes.slice(0, count)), ...field.nodes.slice(count)] };
    }
    return field;
  }
  const field = slider(question, id, name);
  if (!question.refusal) return field;
  const [label, box] = tick(say("refusal"), id);
  for (const node of field.nodes) node.addEventListener("input", () => (box.checked = false));
  box.addEventListener("input", () => box.checked && (field.nodes[0].value = ""));
  return { nodes: [...field.nodes, label], value: () => (box.checked ? REFUSED : field.value()) };
}

/** How a symbol is read: the refusal in the language of the page. @param {any} label */
export const shown = (label) => (label === REFUSED ? say("refusal") : label === ABSENT ? say("absent") : String(label));

/** A box to tick, with its label. @param {string} text @param {string} id @returns {[Element, HTMLInputElement]} */
function tick(text, id) {
  const box = el("input", { type: "checkbox", name: id, autocomplete: "off" });
  return [el("label", { class: "choice", dir: "auto" }, box, text), box];
}

/** Ticks; "none of these" and a refusal exclude the others. */
function ticks(question, asked, id) {
  const options = asked.map((i) => tick(String(question.options[i]), id));
  const others = [say("none"), ...(question.refusal ? [say("refusal")] : [])].map((text) => tick(text, id));
  const limit = Math.min(question.most ?? asked.length, asked.length);
  const boxes = options.map(([, box]) => box);
  const settle = (/** @type {HTMLInputElement} */ changed) => {
    const isOther = others.some(([, box]) => box === changed);
    if (changed.checked) for (const [, box] of isOther ? [...options, ...others] : others) if (box !== changed) box.checked = false;
    const isFull = boxes.filter((box) => box.checked).length >= limit;
    for (const box of boxes) box.disabled = isFull && !box.checked;
  };
  for (const [, box] of [...options, ...others]) box.addEventListener("input", () => settle(box));
  const value = () => {
    const ticked = asked.filter((_, rank) => boxes[rank].checked).map((i) => question.options[i]);
    if (ticked.length) return ticked;
    const other = others.findIndex(([, box]) => box.checked);
    return other < 0 ? null : other ? REFUSED : [];
  };
  const most = limit < asked.length ? [el("p", { class: "quiet" }, say("ticks-most", { most: limit }))] : [];
  return { nodes: [...most, ...[...options, ...others].map(([label]) => label)], value };
}
