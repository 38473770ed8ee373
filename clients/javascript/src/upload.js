// How reports travel to a collector, and what a report's id decides; as discreet/messages/uploads.py in Python.
import { joined, sha256, utf8, Words } from "./entropy.js";
import { WireError } from "./errors.js";
import { countUpTo } from "./mechanism.js";

export const MEDIA_TYPE = "application/vnd.discreet.reports";

/** @param {number} number */
const uint32 = (number) => Uint8Array.from([0, 8, 16, 24], (shift) => number >>> shift);

/**
 * The channel of a round that a report id draws: anyone can compute it, nobody can choose it.
 * @param {Uint8Array} campaign 16 bytes
 * @param {number} round
 * @param {Uint8Array} id
 * @param {number[]} ends where each channel ends on a scale of 2^48
 */
export async function channelOf(campaign, round, id, ends) {
  const digest = await sha256(joined(utf8("discreet channel"), campaign, uint32(round), id));
  return ends.length === 1 ? 0 : countUpTo(ends, new Words(digest).top(0));
}

/** The report id for which an invitation ticket is spent. @param {Uint8Array} campaign @param {Uint8Array} ticket */
export async function ticketId(campaign, ticket) {
  return (await sha256(joined(utf8("discreet ticket"), campaign, ticket))).slice(0, 16);
}

/**
 * The body of an upload: a header, then for each answer its id and its packed reports, filled with zeros up to `width`.
 * @param {Uint8Array} campaign 16 bytes
 * @param {number} round
 * @param {number} width bytes of one person's reports, the same for everybody (`Round.width`)
 * @param {{ id: Uint8Array, report: Uint8Array }[]} answers
 */
export function writeUpload(campaign, round, width, answers) {
  if (campaign.length !== 16 || answers.some(({ id, report }) => id.length !== 16 || report.length > width)) {
    throw new WireError(`ids must have 16 bytes and reports at most ${width}`);
  }
  const filled = answers.map(({ id, report }) => joined(id, report, new Uint8Array(width - report.length)));
  return joined(utf8("dcR1"), campaign, uint32(round), uint32(answers.length), uint32(width), ...filled);
}
