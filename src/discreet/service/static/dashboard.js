// The dashboard: a piece of HTML from the server, fetched every few seconds and replaced when it has changed.
import { $ } from "./dom.js";
import { call, isSignedIn, post, showSignOut, signIn } from "./session.js";
import "./tips.js";

const live = $("live");
const { source, seconds } = live.dataset;
let last = "";
let timer = 0;

async function refresh() {
  clearTimeout(timer);
  try {
    const response = await call(source);
    if (response.status === 401) {
      live.replaceChildren();
      last = "";
      await signIn(isSignedIn() ? "This token is not valid." : "");
      return refresh();
    }
    if (!response.ok) throw new Error((await response.json().catch(() => ({}))).error ?? `status ${response.status}`);
    show(await response.text());
    $("live-status").textContent = "";
    showSignOut();
  } catch (error) {
    $("live-status").textContent = `Not up to date: ${/** @type {Error} */ (error).message}. Trying again …`;
  }
  timer = setTimeout(refresh, document.hidden ? 15000 : 1000 * Number(seconds));
}

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
  const link = $("link");
  if (link) link.textContent = `${location.host}${link.getAttribute("href").slice(0, 11)}…`;
}

/** How to find an element again after a refresh, so that it keeps the keyboard's focus. @param {Element | null} node */
function selectorOf(node) {
  if (!node || !live.contains(node)) return null;
  if (node.id) return `#${node.id}`;
  if (node.tagName === "SUMMARY") return `#${node.parentElement.id} > summary`;
  const name = ["data-export", "data-copy", "data-close", "data-invite", "data-add", "href"].find((one) => node.hasAttribute(one));
  return name ? `[${name}="${node.getAttribute(name)}"]` : null;
}

live.addEventListener("click", async (event) => {
  const button = /** @type {Element} */ (event.target).closest("button");
  if (!button) return;
  const { export: path, name, copy, close, invite, add, groups, link } = button.dataset;
  try {
    if (path) save(await (await checked(call(path))).blob(), name);
    if (copy) {
      await navigator.clipboard.writeText(new URL(copy, location.href).href);
      button.textContent = "Copied";
    }
    if (close && confirm("Close this round? It will not accept any more answers.")) {
      await checked(post(`/api/campaigns/${close}/close`, {}));
      await refresh();
    }
    if (invite) {
      const lines = [];
      for (const group of groups ? JSON.parse(groups) : [null]) {
        const wanted = group === null ? { count: 10 } : { count: 10, group };
        const { tickets } = await (await checked(post(`/api/campaigns/${invite}/tickets`, wanted))).json();
        const links = tickets.map((ticket) => new URL(`${link}&ticket=${ticket}`, location.href).href);
        lines.push(...links.map((one) => (group === null ? one : `${group}\t${one}`)));
      }
      save(new Blob([lines.join("\n") + "\n"], { type: "text/plain" }), "invitations.txt");
    }
    if (add) {
      const label = prompt("Name of the new group. Links that you have sent will not fit any more: the question changes.");
      if (label?.trim()) {
        await checked(post(`/api/campaigns/${add}/groups`, { labels: [label.trim()] }));
        await refresh();
      }
    }
  } catch (error) {
    $("live-status").textContent = `${/** @type {Error} */ (error).message}`;
  }
});

async function checked(promise) {
  const response = await promise;
  if (!response.ok) throw new Error((await response.json().catch(() => ({}))).error ?? `status ${response.status}`);
  return response;
}

function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

document.addEventListener("visibilitychange", () => document.hidden || refresh());
refresh();
