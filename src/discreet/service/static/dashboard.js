// The dashboard: a piece of HTML from the server, replaced when the server says that it has changed.
import { ACTIONS, download } from "./actions.js";
import { copy } from "./dialog.js";
import { $, rooted } from "./dom.js";
import { follow } from "./events.js";
import { call, checked, signedIn, isSignedIn } from "./session.js";
import "./tips.js";

const live = $("live");
const { source } = live.dataset;
const heading = live.querySelector("h1"); // of a page whose own one comes with what is loaded
let last = "";
/** @type {string | null} */
let asked = null; // the button that was pressed
let isLate = false; // whether the line below speaks of a refresh; what an action said stays until the next one

async function refresh() {
  try {
    const response = await call(source);
    if (response.status === 401) {
      clear();
      await signedIn();
      return refresh();
    }
    if ([403, 404].includes(response.status)) {
      clear();
      $("forbidden").textContent = sentence((await response.json()).error);
      $("forbidden").hidden = false;
      return;
    }
    show(await (await checked(response)).text());
    if (isLate) $("live-status").textContent = "";
    isLate = false;
  } catch (error) {
    isLate = true;
    $("live-status").textContent = `Not up to date: ${/** @type {Error} */ (error).message}. Trying again …`;
  }
}

/** Leave nothing but a heading. */
function clear() {
  live.replaceChildren(...(heading ? [heading] : []));
  last = "";
}

/** What the collector says, as a sentence. @param {string} text */
const sentence = (text) => `${text[0].toUpperCase()}${text.slice(1)}.`;

/** Our own templates, in which every text is escaped; the page's policy runs no script from them anyway. */
function show(text) {
  if (text === last) return;
  last = text;
  const open = [...live.querySelectorAll("details[open]")].map(({ id }) => id);
  const focused = selectorOf(document.activeElement);
  live.innerHTML = text;
  open.forEach((id) => $(id)?.setAttribute("open", ""));
  if (focused) live.querySelector(focused)?.focus();
  const title = live.querySelector("h1")?.textContent;
  if (title) document.title = `${title} · discreet`;
  const embed = $("embed");
  if (embed) embed.textContent = `<iframe src="${new URL(rooted(embed.dataset.path), location.href).href}" sandbox="allow-scripts allow-same-origin allow-forms" referrerpolicy="origin" width="100%" height="700"></iframe>`;
  const link = $("link");
  if (link) link.value = new URL(rooted(link.dataset.link), location.href).href;
}

/** How to find an element again after a refresh, so that it keeps the keyboard's focus. @param {Element | null} node */
function selectorOf(node) {
  if (!node || !live.contains(node)) return null;
  if (node.id) return `#${node.id}`;
  if (node.tagName === "SUMMARY") return `#${node.parentElement.id} > summary`;
  const name = ["data-export", "data-copy", "data-action", "href"].find((one) => node.hasAttribute(one));
  return name ? `[${name}="${node.getAttribute(name)}"]` : null;
}

live.addEventListener("click", async (event) => {
  const button = /** @type {Element} */ (event.target).closest("button");
  if (!button) return;
  const { export: path, name, copy: copied, action } = button.dataset;
  asked = selectorOf(button);
  $("live-status").textContent = "";
  try {
    if (path) await download(path, name);
    if (copied) await copy(new URL(rooted(copied), location.href).href, button, $("link"));
    if (action) await ACTIONS[action](JSON.parse(button.dataset.about ?? $("about").dataset.about), refresh);
  } catch (error) {
    $("live-status").textContent = /** @type {Error} */ (error).message;
  }
});

// The button that opened the dialog may have been replaced since.
$("dialog")?.addEventListener("close", () => asked && live.querySelector(asked)?.focus());

if (isSignedIn()) signedIn();
refresh().then(() => "still" in live.dataset || follow(source, refresh));
