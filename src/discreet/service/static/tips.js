// What a shape of a chart stands for, beside the pointer; a tap shows it on phones, Escape hides it. The tables say the same.
import { $, el } from "./dom.js";

const tip = el("div", { id: "tip", role: "tooltip", hidden: "" });
$("main").append(tip);

/** @param {PointerEvent} event */
function show(event) {
  const text = /** @type {Element} */ (event.target).closest?.("[data-tip]")?.getAttribute("data-tip") ?? "";
  tip.textContent = text;
  tip.hidden = text === "";
  if (!text) return;
  const { width, height } = tip.getBoundingClientRect();
  const left = Math.min(Math.max(8, event.clientX - width / 2), document.documentElement.clientWidth - width - 8);
  const above = event.clientY - height - 14;
  tip.style.left = `${left}px`;
  tip.style.top = `${above < 4 ? event.clientY + 18 : above}px`;
}

for (const name of ["pointermove", "pointerdown"]) document.addEventListener(name, show);
for (const name of ["scroll", "pointerleave"]) document.addEventListener(name, () => (tip.hidden = true), { passive: true });
document.addEventListener("keydown", ({ key }) => key === "Escape" && (tip.hidden = true));
