// Why something cannot be done, in the person's language. What the library or the collector said stands below, in English,
// for whoever helps them.
import { DiscreetError, WireError } from "./client/index.js";
import { $, number } from "./dom.js";
import { say } from "./words.js";

/** An error of this page, whose sentence is in the person's language. */
export class PageError extends Error {}
/** One after which this page must not answer. */
export class Refusal extends PageError {}

/** An answer of the collector that is no success. */
export class CollectorError extends Error {
  /** @param {string} message @param {number} status */
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

/** Say why, without a final stop; show the technical sentence below. @param {any} error @returns {string} */
export function why(error) {
  if (error instanceof PageError) return error.message;
  $("technical-words").textContent = `${error.name}: ${error.message}`;
  $("technical").hidden = false;
  if (error instanceof CollectorError) return say("status", { status: error.status });
  if (!(error instanceof DiscreetError)) return say("error-page");
  if (!error.code) return say(error instanceof WireError ? "error-unreadable" : "error-page");
  return say(`error-${error.code}`, Object.fromEntries(Object.entries(error.values).map(([name, value]) => [name, number(value)])));
}
