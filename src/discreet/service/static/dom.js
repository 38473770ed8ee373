// Helpers instead of a framework. Nothing here parses HTML.

/** @param {string} id @returns {any} */
export const $ = (id) => document.getElementById(id);

/** An element with attributes and children. @param {string} tag @param {Record<string, any>} [attributes] @param {...any} children */
export function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** The same for SVG. @param {string} tag @param {Record<string, any>} [attributes] @param {...any} children */
export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) if (value !== null) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

let locale = "en";

/** How numbers are written from now on. @param {string} wanted a BCP 47 tag */
export const setLocale = (wanted) => (locale = wanted);

/** 12345.678 -> "12 345.7", or "12 345,7" @param {number} value @param {number} [digits] @param {number} [least] */
export const number = (value, digits = 4, least = 1) =>
  new Intl.NumberFormat(locale, { maximumSignificantDigits: digits, minimumSignificantDigits: least }).formatToParts(value)
    .map(({ type, value: text }) => (type === "group" ? "\u202f" : type === "minusSign" ? text.replace("-", "−") : text)).join("");

/** 0.1234 -> "12.3 %" @param {number} share */
export const percent = (share) => `${number(100 * share, share >= 0.0995 ? 3 : 2, share >= 0.0995 ? 3 : 2)}\u202f%`;

/** The path of something of the collector, which need not be at the root of its host. @param {string} path */
export const rooted = (path) => `${document.documentElement.dataset.root ?? ""}${path}`;
