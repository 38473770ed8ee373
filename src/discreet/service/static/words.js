// The words of the answer page in the language of the person or of the campaign. English sentences that never change
// stand in the page itself, at `data-say`; the others in words-en.js.
import { $, el, setLocale } from "./dom.js";
import en from "./words-en.js";
import ar from "./words-ar.js";
import de from "./words-de.js";
import es from "./words-es.js";
import fr from "./words-fr.js";

/** @type {Record<string, Record<string, any>>} */
const CATALOGUES = { ar, de, en, es, fr };
const NAMES = { ar: "العربية", de: "Deutsch", en: "English", es: "Español", fr: "Français" };
const RIGHT_TO_LEFT = ["ar"];
const LOCALES = { ar: "ar-u-nu-latn" }; // the digits of the fields, which take no others
const KEY = "discreet language"; // what the person chose, until the tab is closed

const originals = new Map([...document.querySelectorAll("[data-say]")].map((node) => [node, [...node.childNodes].map((one) => one.cloneNode(true))]));
let language = "en";

/** The first language that the browser prefers and this page has. */
const preferred = () => navigator.languages.map((one) => one.slice(0, 2).toLowerCase()).find((one) => one in CATALOGUES) ?? "en";

/** Show the page in the person's own choice, else the campaign's language, else the browser's. @param {string} [ofCampaign] */
export function chooseLanguage(ofCampaign = "") {
  const wanted = sessionStorage.getItem(KEY) ?? ofCampaign;
  language = wanted in CATALOGUES ? wanted : preferred();
  document.documentElement.lang = language;
  document.documentElement.dir = RIGHT_TO_LEFT.includes(language) ? "rtl" : "ltr";
  setLocale(LOCALES[language] ?? language);
  for (const [node, nodes] of originals) {
    node.replaceChildren(...(language === "en" ? nodes.map((one) => one.cloneNode(true)) : parts(node.getAttribute("data-say"))));
  }
  const list = $("language");
  list.replaceChildren(...Object.entries(NAMES).map(([code, name]) => el("option", { value: code, lang: code }, name)));
  list.value = language;
  list.hidden = false;
  list.onchange = () => {
    sessionStorage.setItem(KEY, list.value);
    location.reload();
  };
}

/**
 * A sentence as text and nodes: `{name}` is replaced by a value or an element, and what stands in backticks is code.
 * @param {string} key @param {Record<string, any>} [values] with `n`, a sentence may have a form for each kind of number
 * @returns {(string | Element)[]}
 */
export function parts(key, values = {}) {
  const found = CATALOGUES[language][key] ?? en[key];
  const text = typeof found === "string" ? found : (found[new Intl.PluralRules(language).select(values.n)] ?? found.other);
  return text.split(/(\{\w+\}|`[^`]+`)/).filter(Boolean).map((/** @type {string} */ part) => {
    if (part.startsWith("`")) return el("code", { dir: "ltr" }, part.slice(1, -1));
    return /^\{\w+\}$/.test(part) ? values[part.slice(1, -1)] : part;
  });
}

/** A sentence as text. @param {string} key @param {Record<string, any>} [values] @returns {string} */
export const say = (key, values) => parts(key, values).join("");
