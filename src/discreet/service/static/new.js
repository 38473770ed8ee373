// The form for a new campaign. After every change it asks the collector what error to expect.
import { listed, preview, startBuilder } from "./builder.js";
import { $, rooted } from "./dom.js";
import { post, withRole } from "./session.js";
import { fillZones } from "./zones.js";
import "./tips.js";

const form = $("new");
let timer = 0;
let asked = 0;
let method = "auto";

/** @returns {Record<string, any>} */
function values() {
  return { ...Object.fromEntries(new FormData(form)), method, questions: listed() };
}

async function advise() {
  const mine = ++asked;
  const response = await post("/pages/advice", values());
  const text = await response.text();
  if (mine !== asked) return; // a newer request is under way
  if (response.status === 401) return begin();
  if (!response.headers.get("content-type")?.startsWith("text/html")) return;
  $("advice").innerHTML = text; // our own template, in which every text is escaped
  const { form: shown } = $("advised")?.dataset ?? {};
  preview(shown ? JSON.parse(shown) : null);
}

function changed() {
  const { kind, by, epsilon, admission } = values();
  $("epsilon-shown").textContent = epsilon;
  form.querySelectorAll("[data-for]").forEach((part) => (part.hidden = !part.dataset.for.split(" ").includes(kind)));
  form.querySelectorAll("[data-by]").forEach((part) => (part.hidden = !part.dataset.by.split(" ").includes(by)));
  form.querySelectorAll("[data-admission]").forEach((part) => (part.hidden = part.dataset.admission !== admission));
  clearTimeout(timer);
  timer = setTimeout(advise, 250);
}

form.addEventListener("input", (event) => {
  if (event.target.name === "kind") method = "auto";
  changed();
});
$("advice").addEventListener("change", (event) => {
  if (event.target.name !== "method") return;
  method = event.target.value;
  changed();
});

$("advice").addEventListener("click", (event) => {
  const { ask } = event.target.dataset;
  if (!ask) return;
  $("people").value = ask;
  changed();
});

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  clearTimeout(timer);
  await advise();
  const plan = $("advised")?.dataset.plan;
  if (!plan) return;
  const { title, question, minimum, people, admission, opens, closes, zone, unit, consent, contact, language, origins, public_results: isPublic } = values();
  const response = await post("/api/campaigns", {
    plan: JSON.parse(plan), title, question, admission, zone, unit, consent, contact, language,
    minimum: Number(minimum), participants: Number(people), opens: opens || null, closes: closes || null, public_results: isPublic === "on",
    origins: String(origins ?? "").split(/\s+/).filter(Boolean),
  });
  const made = await response.json();
  if (response.ok) location.assign(rooted(`/campaigns/${made.id}`));
  else $("error").textContent = made.error;
});

async function begin() {
  $("sides").hidden = true;
  await withRole("editor");
  $("sides").hidden = false;
  fillZones();
  changed();
}

startBuilder(() => changed());
begin();
