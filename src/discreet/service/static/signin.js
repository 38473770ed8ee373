// The page to which a provider sends an administrator back.
import { $ } from "./dom.js";
import { cameBack } from "./provider.js";
import { checked, keepToken, post } from "./session.js";

async function finish() {
  const { given, back } = cameBack();
  const { token } = await (await checked(post("/api/signin", given))).json();
  keepToken(token);
  location.replace(back);
}

finish().catch((error) => {
  $("signin-status").classList.add("error");
  $("signin-status").textContent = error.message;
});
