// The administrator's token: in this tab's sessionStorage and not in a cookie, so that no other site can use it.
import { $, rooted } from "./dom.js";

const KEY = "discreet token";

/** The token may be part of the link, after the #, which browsers do not send. */
const given = new URLSearchParams(location.hash.slice(1)).get("token");
if (given) {
  sessionStorage.setItem(KEY, given);
  history.replaceState(null, "", location.pathname + location.search);
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

/** Wait until somebody with a valid token is here; return who. */
export async function signedIn() {
  for (;;) {
    const response = await call("/api/me");
    if (response.status !== 401) return response.json();
    await signIn(isSignedIn() ? "This token is not valid." : "");
  }
}

/** Ask for the token. @param {string} [sentence] @returns {Promise<void>} resolves when one is entered */
export function signIn(sentence = "") {
  const form = $("signin");
  form.hidden = false;
  $("signout").hidden = true;
  $("signin-error").textContent = sentence;
  $("token").value = "";
  $("token").focus();
  sessionStorage.removeItem(KEY);
  return new Promise((resolve) => {
    form.onsubmit = (event) => {
      event.preventDefault();
      sessionStorage.setItem(KEY, $("token").value.trim());
      form.hidden = true;
      resolve();
    };
  });
}

export function showSignOut() {
  const button = $("signout");
  if (!button || !isSignedIn()) return;
  button.hidden = false;
  button.onclick = () => {
    sessionStorage.removeItem(KEY);
    location.assign(rooted("/"));
  };
}
