// One dialog for everything that needs a word or a confirmation; it stands outside of what is refreshed.
import { $, el } from "./dom.js";

/**
 * Ask, act, and stay open with the reason if that fails.
 * @param {string} title @param {(Element | string)[]} body
 * @param {{ yes?: string, no?: string, isFinal?: boolean, act?: () => Promise<any> }} [options] without `yes` there is only a button to close it
 */
export function openDialog(title, body, { yes = "", no = "Close", isFinal = false, act = async () => {} } = {}) {
  const dialog = $("dialog");
  $("dialog-title").textContent = title;
  $("dialog-body").replaceChildren(...body);
  $("dialog-error").textContent = "";
  $("dialog-yes").textContent = yes;
  $("dialog-yes").hidden = !yes;
  $("dialog-yes").classList.toggle("danger", isFinal);
  $("dialog-yes").disabled = false;
  $("dialog-no").textContent = no;
  $("dialog-no").onclick = () => dialog.close();
  $("dialog-form").onsubmit = async (event) => {
    event.preventDefault();
    $("dialog-yes").disabled = true;
    try {
      if ((await act()) !== "stay") dialog.close();
    } catch (error) {
      $("dialog-error").textContent = /** @type {Error} */ (error).message;
    }
    $("dialog-yes").disabled = false;
  };
  if (!dialog.open) dialog.showModal();
}

/** A field with its label. @param {string} text @param {Record<string, any>} attributes @returns {[Element, HTMLInputElement]} */
export function field(text, attributes) {
  const input = el("input", { id: "dialog-field", ...attributes });
  return [el("div", {}, el("label", { for: input.id }, text), input), input];
}

/** A link to copy, whole. @param {string} address @param {string} label */
export function copyable(address, label) {
  const input = el("input", { readonly: "", value: address, "aria-label": label, class: "address", dir: "ltr" });
  const button = el("button", { type: "button", class: "small" }, "Copy");
  button.addEventListener("click", () => copy(address, button, input));
  return el("p", { class: "copyable" }, input, button);
}

/** Copy a text; where the browser forbids it (http), select it. @param {string} text @param {Element} button @param {HTMLInputElement | null} input */
export async function copy(text, button, input) {
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    input?.select();
    button.textContent = input && document.execCommand("copy") ? "Copied" : "Press Ctrl+C";
  }
}
