/** Base of every error of discreet: one sentence that says what was wrong and what is allowed; never a person's value. */
export class DiscreetError extends Error {
  /**
   * @param {string} message
   * @param {string} [code] what it is about, for programs that say it in other words; "" for errors that only developers meet
   * @param {Record<string, number>} [values] the numbers of the sentence
   */
  constructor(message, code = "", values = {}) {
    super(message);
    this.code = code;
    this.values = values;
  }

  get name() {
    return this.constructor.name;
  }
}
/** A value that the declared domain does not hold. */
export class DomainError extends DiscreetError {}
/** A mechanism that exceeds its claim, or an answer that exceeds its owner's limit. */
export class PrivacyError extends DiscreetError {}
/** A document that does not follow the wire format. */
export class WireError extends DiscreetError {}
