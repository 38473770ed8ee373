// The fields of the form: a number with a slider, or one of some choices. Each has `nodes` and `value()`, null if empty.
import { el, number } from "./dom.js";
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
  const span = high - low;
  const isWhole = Number.isInteger(low) && Number.isInteger(high) && span >= 10;
  const step = isWhole ? Math.max(1, Math.round(span / 200)) : span / 200;
  const box = el("input", { type: "number", id, class: "answer", min: low, max: high, step: "any", inputmode: "decimal", "aria-label": name, autocomplete: "off" });
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
  const ends = el("div", { class: "ticks", "aria-hidden": "true" }, el("span", {}, number(low, 9)), el("span", {}, number(high, 9)));
  const value = () => (box.value === "" || !Number.isFinite(box.valueAsNumber) ? null : box.valueAsNumber);
  return { nodes: [box, bar, ends], value };
}

function choices(labels, id, name) {
  if (labels.length > 12) {
    const list = el("select", { id, "aria-label": name, autocomplete: "off" }, el("option", { value: "" }, say("choose")));
    list.append(...labels.map((label, i) => el("option", { value: i }, String(label))));
    return { nodes: [list], value: () => (list.value === "" ? null : labels[Number(list.value)]) };
  }
  const options = labels.map((label, i) => {
    const radio = el("input", { type: "radio", name: id, value: i, autocomplete: "off" });
    return el("label", { class: "choice", dir: "auto" }, radio, String(label));
  });
  const value = () => {
    const chosen = options.findIndex((option) => option.firstChild.checked);
    return chosen < 0 ? null : labels[chosen];
  };
  return { nodes: options, value };
}
