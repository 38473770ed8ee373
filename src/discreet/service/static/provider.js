// Signing in through a provider. This tab draws state, nonce and verifier, and keeps them until it comes back: so only the
// tab that began can finish, and a code that somebody else put into its address is refused.
import { rooted } from "./dom.js";

const KEY = "discreet signing in";

/** @param {Uint8Array} bytes base64url without padding */
const packed = (bytes) => btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
const drawn = () => packed(crypto.getRandomValues(new Uint8Array(32)));

/** Go to the provider's page. @param {(path: string) => Promise<Response>} ask */
export async function goToProvider(ask) {
  const { authorization_endpoint: page, ...named } = await (await ask("/api/signin")).json();
  const kept = { state: drawn(), nonce: drawn(), verifier: drawn(), back: location.pathname + location.search };
  sessionStorage.setItem(KEY, JSON.stringify(kept));
  const challenge = packed(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(kept.verifier))));
  const query = { ...named, response_type: "code", state: kept.state, nonce: kept.nonce, code_challenge: challenge, code_challenge_method: "S256" };
  const address = new URL(page);
  for (const [name, value] of Object.entries(query)) address.searchParams.set(name, value);
  location.assign(address.href);
}

/** What came back: the code with what this tab kept, and where to go on; an error has its sentence. */
export function cameBack() {
  const query = new URLSearchParams(location.search);
  const kept = JSON.parse(sessionStorage.getItem(KEY) ?? "null");
  sessionStorage.removeItem(KEY);
  history.replaceState(null, "", location.pathname); // the code stays in no history
  if (!kept || query.get("state") !== kept.state) throw new Error("This tab did not begin to sign in, or began anew. Go back and sign in again.");
  if (query.get("error")) throw new Error(`The provider did not sign you in (${query.get("error")}).`);
  const { nonce, verifier, back } = kept;
  return { given: { code: query.get("code") ?? "", nonce, verifier }, back: back.startsWith(rooted("/")) ? back : rooted("/") };
}
