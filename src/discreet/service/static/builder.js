// The questions of a questionnaire, as a list of small forms: add, change, move, remove, or read them from a file. What
// people will see is shown beside them, by the same code that shows it to people.
import { Form } from "./client/index.js";
import { $, el } from "./dom.js";
import { blockFields, partWords } from "./questions.js";
import { post } from "./session.js";

const KINDS = {
  "yes-no": "Yes or no",
  choice: "One of some choices",
  rating: "A rating",
  matrix: "A rating for each of some rows",
  number: "A number",
  ticks: "Tick all that apply",
};
/** Which fields each kind has. @type {Record<string, string[]>} */
const FIELDS = { "yes-no": [], choice: ["options"], rating: ["low", "high"], matrix: ["rows", "low", "high"], number: ["low", "high"], ticks: ["options", "most"] };
const LABELS = { options: "Choices, one per line", rows: "Rows, one per line", low: "From", high: "To", most: "At most so many ticks count (optional)" };
const FRESH = { text: "", options: [], rows: [], low: 1, high: 5, most: "", margin: 3, refusal: true, when: "" };

/** @type {any[]} */
let questions = [];
let changed = () => {};
let made = 0;

/** Start with one question. @param {() => void} whenChanged */
export function startBuilder(whenChanged) {
  changed = whenChanged;
  $("add-kind").replaceChildren(...Object.entries(KINDS).map(([kind, name]) => el("option", { value: kind }, name)));
  $("add").onclick = () => {
    add($("add-kind").value);
    show();
    $("questions").lastElementChild?.querySelector("input")?.focus();
  };
  $("survey-file").onchange = async () => {
    const [file] = $("survey-file").files;
    if (!file) return;
    $("survey-text").value = await file.text();
    await read();
  };
  $("read-survey").onclick = read;
  add("yes-no", { text: "Do you smoke?", name: "smokes" });
  add("rating", { text: "How was your mood last week, from 1 (low) to 5 (high)?", name: "mood" });
  show();
}

/** @param {string} kind @param {any} [fields] */
function add(kind, fields = {}) {
  const ends = kind === "number" ? { low: 0, high: 100, margin: 2 } : {};
  const options = kind === "choice" || kind === "ticks" ? { options: ["one", "two", "three"] } : {};
  const rows = kind === "matrix" ? { rows: ["speed", "price"] } : {};
  questions.push({ ...FRESH, ...ends, ...options, ...rows, name: `question ${++made}`, kind, ...fields });
}

/** Replace all questions by those of a text. */
async function read() {
  const response = await post("/pages/survey", { text: $("survey-text").value });
  const found = await response.json();
  $("survey-error").textContent = response.ok ? "" : found.error;
  if (!response.ok) return;
  questions = found.questions.map((one) => ({ ...FRESH, ...one, most: one.most ?? "" }));
  made = questions.length;
  show();
}

/** What the collector is asked about: margins of shares as shares. */
export const listed = () => questions.map(({ name, kind, text, margin, refusal, when, ...held }) => ({
  name, kind, text, refusal, when: when || null, margin: kind === "number" ? Number(margin) : Number(margin) / 100,
  ...Object.fromEntries(FIELDS[kind].map((field) => [field, held[field]]).filter(([, value]) => value !== "")),
}));

function show() {
  $("questions").replaceChildren(...questions.map((question, i) => editor(question, i)));
  changed();
}

/** The small form of one question. */
function editor(question, place) {
  const id = (field) => `q${place}-${field}`;
  const set = (field, value) => {
    question[field] = value;
    changed();
  };
  const input = (field, label, type = "text", extra = {}) => {
    const box = el("input", { id: id(field), type, ...(type === "number" ? { step: "any", inputmode: "decimal" } : {}), ...extra });
    box.value = question[field];
    box.addEventListener("input", () => set(field, type === "number" && box.value !== "" ? box.valueAsNumber : box.value));
    return el("div", {}, el("label", { for: id(field) }, label), box);
  };
  const lines = (field) => {
    const box = el("textarea", { id: id(field), rows: 3 });
    box.value = question[field].join("\n");
    box.addEventListener("input", () => set(field, box.value.split("\n").map((line) => line.trim()).filter(Boolean)));
    return el("div", {}, el("label", { for: id(field) }, LABELS[field]), box);
  };
  const own = FIELDS[question.kind];
  const numbers = own.filter((field) => ["low", "high"].includes(field)).map((field) => input(field, LABELS[field], "number"));
  const refusal = el("input", { type: "checkbox", id: id("refusal") });
  refusal.checked = question.refusal;
  refusal.addEventListener("input", () => set("refusal", refusal.checked));
  const act = (label, text, work) => {
    const button = el("button", { type: "button", class: "small quiet-button", "aria-label": `${label}: ${question.text || question.name}` }, text);
    button.addEventListener("click", () => {
      work();
      show();
    });
    return button;
  };
  const swap = (other) => ([questions[place], questions[other]] = [questions[other], questions[place]]);
  const unit = question.kind === "number" ? "Margin wanted, ±" : "Margin wanted, ± points";
  return el("fieldset", { class: "edited" },
    el("legend", {}, `${place + 1}. ${KINDS[question.kind]}`),
    input("text", "As people read it"),
    ...own.filter((field) => ["options", "rows"].includes(field)).map(lines),
    ...(numbers.length ? [el("div", { class: "pair" }, ...numbers)] : []),
    ...(own.includes("most") ? [input("most", LABELS.most, "number", { min: 1, step: 1 })] : []),
    el("div", { class: "pair" }, input("margin", unit, "number", { min: 0 }), el("label", { class: "choice" }, refusal, "People may prefer not to say")),
    el("details", {}, el("summary", {}, question.when ? "Short name; asked of some people only" : "Short name, and of whom it is asked"),
      input("name", "Short name, for conditions, tables and files"),
      input("when", "Only if, such as smokes = 'yes'; empty for everyone")),
    el("p", { class: "buttons" },
      ...(place ? [act("Move up", "↑", () => swap(place - 1))] : []),
      ...(place < questions.length - 1 ? [act("Move down", "↓", () => swap(place + 1))] : []),
      act("Remove", "Remove", () => questions.splice(place, 1))));
}

/** Show what people of a block will see. @param {{ questions: any[], blocks: number[][] } | null} found */
export function preview(found) {
  $("preview-card").hidden = found === null;
  if (found === null) return;
  const form = Form.read(found.questions);
  const before = Number($("preview-block").value);
  $("preview-block").replaceChildren(...found.blocks.map((_, i) => el("option", { value: i }, `Person in block ${i + 1} of ${found.blocks.length}`)));
  $("preview-block").value = String(before < found.blocks.length ? before : 0);
  const draw = () => {
    const columns = found.blocks[Number($("preview-block").value)].map((place) => form.columns[place]);
    const fields = blockFields(form, columns);
    const words = partWords(form, columns);
    $("preview").replaceChildren(...(words ? [el("p", { class: "quiet" }, words)] : []), ...fields.nodes);
    fields.changed();
    for (const event of ["input", "change"]) $("preview").addEventListener(event, fields.changed);
  };
  $("preview-block").onchange = draw;
  draw();
}
