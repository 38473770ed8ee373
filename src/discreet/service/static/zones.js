// The time zones that a campaign's days can be in.
import { $, el } from "./dom.js";

/** Fill the list, and choose one. @param {string} [chosen] that of this browser unless given */
export function fillZones(chosen = Intl.DateTimeFormat().resolvedOptions().timeZone) {
  const names = [...new Set(["UTC", chosen, ...Intl.supportedValuesOf("timeZone")])];
  $("zone").replaceChildren(...names.map((name) => el("option", { value: name }, name.replaceAll("_", " "))));
  $("zone").value = chosen;
}
