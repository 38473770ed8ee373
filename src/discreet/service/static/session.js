// The administrator's token: in this tab's sessionStorage and not in a cookie, so that no other site can use it.
import { $, rooted } from "./dom.js";
import { goToProvider } from "./provider.js";

const KEY = "discreet token";
const WHO = "discreet role"; // so that the next page shows at once what this token may use
const ROLES = ["viewer", "editor", "owner"]; // each may do what those before it may

/** The token may be part of the link, after the #, which browsers do not send. */
const given = new URLSearchParams(location.hash.slice(1)).get("token");
if (given) {
  keepToken(given);
  history.replaceState(null, "", location.pathname + location.search);
}

/** @param {string} token */
export function keepToken(token) {
  sessionStorage.removeItem(WHO);
  sessionStorage.setItem(KEY, token);
}

export const isSignedIn = () => sessionStorage.getItem(KEY) !== null;

/** fetch with the token. @param {string} path @param {RequestInit} [options] */
export function call(path, options = {}) {
  const token = sessionStorage.getItem(KEY);
  const headers = { ...options.headers, ...(token ? { authorization: `Bearer ${token}` } : {}) };
  return fetch(rooted(path), { ...options, credentials: "omit", headers });
}

/** @param {string} method @param {string} path @param {any} [body] */
export const send = (method, path, body) =>
  call(path, { method, ...(body === undefined ? {} : { headers: { "content-type": "application/json" }, body: JSON.stringify(body) }) });

/** @param {string} path @param {any} body */
export const post = (path, body) => send("POST", path, body);

/** The response, or an error with the collector's sentence. @param {Response | Promise<Response>} promise */
export async function checked(promise) {
  const response = await promise;
  if (!response.ok) throw new Error((await response.json().catch(() => ({}))).error ?? `status ${response.status}`);
  return response;
}

/** @type {Promise<any> | null} */
let signing = null;

/** Wait until somebody with a valid token is here, and show them what they may use; return who. They are asked once. */
export function signedIn() {
  signing ??= recognised().finally(() => (signing = null));
  return signing;
}

async function recognised() {
  for (;;) {
    const response = await call("/api/me");
    if (response.status !== 401) return shownTo(await (await checked(response)).json());
    await signIn(isSignedIn() ? "This token is not valid." : "");
  }
}

/** Whether somebody may do what a role may; a token for one campaign's results may do nothing else. */
const may = (/** @type {any} */ who, /** @type {string} */ role) => who.campaign === null && ROLES.indexOf(who.role) >= ROLES.indexOf(role);

/** Show the links that somebody may use, and no others. @param {{ role: string, campaign: string | null }} who */
function shownTo(who) {
  sessionStorage.setItem(WHO, JSON.stringify(who));
  document.querySelectorAll("[data-role]").forEach((part) => (part.hidden = !may(who, part.dataset.role)));
  showSignOut();
  return who;
}

/** Wait until somebody is here who has a role; tell others why they see nothing. @param {string} role */
export async function withRole(role) {
  const who = await signedIn();
  if (may(who, role)) return;
  $("forbidden").textContent = `This needs the role ${role}, but ${who.name} has the role ${who.role}.`;
  $("forbidden").hidden = false;
  await new Promise(() => {}); // for as long as the page is open
}

/** Ask for the token. @param {string} sentence @returns {Promise<void>} resolves when one is entered */
function signIn(sentence) {
  const form = $("signin");
  form.hidden = false;
  $("signout").hidden = true;
  document.querySelectorAll("[data-role]").forEach((part) => (part.hidden = true));
  $("signin-error").textContent = sentence;
  $("token").value = "";
  $("token").focus();
  forgetToken();
  const provider = $("provider");
  if (provider) provider.onclick = () => goToProvider((path) => checked(call(path))).catch((error) => ($("signin-error").textContent = error.message));
  return new Promise((resolve) => {
    form.onsubmit = (event) => {
      event.preventDefault();
      keepToken($("token").value.trim());
      form.hidden = true;
      resolve();
    };
  });
}

function showSignOut() {
  const button = $("signout");
  button.hidden = false;
  button.onclick = async () => {
    await post("/api/signout", {}).catch(() => {}); // a token from a provider ends here; others are only forgotten
    forgetToken();
    location.assign(rooted("/"));
  };
}

function forgetToken() {
  sessionStorage.removeItem(KEY);
  sessionStorage.removeItem(WHO);
}

const before = sessionStorage.getItem(WHO);
if (before && isSignedIn()) shownTo(JSON.parse(before)); // the collector is asked all the same
