// The form that edits a campaign, or starts a copy of it.
import { $, rooted } from "./dom.js";
import { call, checked, send, withRole } from "./session.js";
import { fillZones } from "./zones.js";

const form = $("edit");
const { id, kind } = form.dataset;
const isCopy = kind === "copy";
const TEXTS = ["title", "question", "unit", "consent", "contact", "language"];
let plan = null;

async function begin() {
  await withRole("editor");
  try {
    const found = await (await checked(call(`/api/campaigns/${id}/progress`))).json();
    plan = found.plan;
    for (const name of [...TEXTS, "minimum"]) $(name).value = found[name];
    fillZones(found.zone);
    $("public_results").checked = found.public_results;
    if (isCopy) {
      $("title").value = `${found.title} (copy)`.slice(0, 200);
      $("people").value = found.participants ?? "";
      $("admission").value = found.admission;
    } else for (const name of ["opens", "closes"]) $(name).value = found[name] ?? "";
    form.hidden = false;
  } catch (error) {
    $("error").textContent = /** @type {Error} */ (error).message;
    form.hidden = false;
  }
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const words = Object.fromEntries(TEXTS.map((name) => [name, $(name).value]));
  const fields = { ...words, zone: $("zone").value, opens: $("opens").value || null, closes: $("closes").value || null, minimum: Number($("minimum").value), public_results: $("public_results").checked };
  try {
    const more = isCopy ? { plan, admission: $("admission").value, participants: Number($("people").value) || null } : {};
    const path = isCopy ? "/api/campaigns" : `/api/campaigns/${id}`;
    const made = await (await checked(send(isCopy ? "POST" : "PATCH", path, { ...fields, ...more }))).json();
    location.assign(rooted(`/campaigns/${made.id}`));
  } catch (error) {
    $("error").textContent = /** @type {Error} */ (error).message;
  }
});

begin();
