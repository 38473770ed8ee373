// What an administrator does with a campaign, each behind a button with `data-action`.
import { copyable, field, openDialog } from "./dialog.js";
import { el, rooted } from "./dom.js";
import { pause } from "./events.js";
import { call, checked, post, send } from "./session.js";

/** @typedef {{ id: string, title: string, link: string, closes: string, groups: any[] | null }} Campaign */

const whole = (/** @type {string} */ path) => new URL(rooted(path), location.href).href;
const say = (/** @type {string} */ text) => el("p", {}, text);

/** Everything that needs no dialog of its own beyond a question. */
const confirmed = (title, words, yes, act) => openDialog(title, [say(words)], { yes, no: "Cancel", act });

/** @type {Record<string, (campaign: Campaign, done: () => Promise<void>) => any>} */
export const ACTIONS = {
  close: ({ id }, done) => confirmed("Close this round?", "It will not accept any more answers.", "Close the round", async () => {
    await checked(post(`/api/campaigns/${id}/close`, {}));
    await done();
  }),

  reopen({ id, closes }, done) {
    const [row, day] = field("New last day (optional)", { type: "date", value: closes > today() ? closes : "", min: today() });
    openDialog("Reopen this campaign?", [say("Its last round accepts answers again. The intervals stay those for repeated looks: the results so far have been seen."), row], {
      yes: "Reopen", no: "Cancel",
      act: async () => {
        await checked(post(`/api/campaigns/${id}/reopen`, { closes: day.value || null }));
        await done();
      },
    });
  },

  extend({ id, closes }, done) {
    const [row, day] = field("Last day", { type: "date", value: closes, min: today(), required: "" });
    openDialog("Extend this campaign", [row], {
      yes: "Save", no: "Cancel",
      act: async () => {
        await checked(send("PATCH", `/api/campaigns/${id}`, { closes: day.value }));
        await done();
      },
    });
  },

  archive: ({ id }, done) => confirmed("Archive this campaign?", "It leaves the list of campaigns. Nothing is deleted, and you can bring it back.", "Archive", async () => {
    await checked(send("PATCH", `/api/campaigns/${id}`, { archived: true }));
    await done();
  }),

  async unarchive({ id }, done) {
    await checked(send("PATCH", `/api/campaigns/${id}`, { archived: false }));
    await done();
  },

  delete({ id, title }) {
    const [row, typed] = field("Type the title to confirm", { autocomplete: "off", spellcheck: "false" });
    openDialog("Delete this campaign for good?", [say(`“${title}”, all its reports, tallies and invitations are deleted. This cannot be undone.`), row], {
      yes: "Delete for good", no: "Cancel", isFinal: true,
      act: async () => {
        if (typed.value.trim() !== title.trim()) throw new Error("This is not the title of the campaign.");
        pause(true);
        await checked(send("DELETE", `/api/campaigns/${id}`)).finally(() => setTimeout(() => pause(false), 10000));
        location.assign(rooted("/"));
      },
    });
  },

  async qr({ title, link }) {
    const picture = el("div", { class: "qr" });
    picture.innerHTML = await (await checked(post("/pages/qr", { text: whole(link) }))).text(); // our own SVG
    const file = el("button", { type: "button", class: "small" }, "Save as SVG");
    file.addEventListener("click", () => save(new Blob([picture.innerHTML], { type: "image/svg+xml" }), "question.svg"));
    openDialog(title, [picture, copyable(whole(link), "Link for people"), el("p", {}, file)]);
  },

  results({ id }) {
    const [who, name] = field("Who gets it", { value: "Results link", maxlength: 200, required: "" });
    const [until, day] = field("Last day (optional)", { id: "dialog-day", type: "date", min: today() });
    openDialog("A link to the results", [say("Whoever has this link sees the results of this campaign, and nothing else. You can revoke it under Administrators."), who, until], {
      yes: "Make the link", no: "Cancel",
      act: async () => {
        const { link } = await (await checked(post(`/api/campaigns/${id}/links`, { name: name.value, expires: day.value || null }))).json();
        openDialog("A link to the results", [say("It is not shown again:"), copyable(whole(link), "Link to the results")]);
        return "stay";
      },
    });
  },

  invite({ id, link, groups }, done) {
    const [row, count] = field(groups ? "How many for each group" : "How many", { type: "number", min: 1, max: 10000, value: 10, required: "" });
    openDialog("Make invitations", [say("Each link counts once. They are saved as a table (CSV), and cannot be shown again. Do not note who gets which: whoever can, could link randomised reports to people."), row], {
      yes: "Save invitations", no: "Cancel",
      act: async () => {
        const rows = [];
        for (const group of groups ?? [null]) {
          const wanted = { count: Number(count.value), ...(group === null ? {} : { group }) };
          const { tickets } = await (await checked(post(`/api/campaigns/${id}/tickets`, wanted))).json();
          rows.push(...tickets.map((ticket) => [...(groups ? [group] : []), whole(`${link}&ticket=${ticket}`)]));
        }
        const table = [["number", ...(groups ? ["group"] : []), "link"], ...rows.map((one, i) => [i + 1, ...one])];
        save(new Blob([table.map((one) => one.map(cell).join(",")).join("\r\n") + "\r\n"], { type: "text/csv" }), "invitations.csv");
        await done();
      },
    });
  },

  add({ id }, done) {
    const [row, label] = field("Name of the new group", { maxlength: 200, required: "" });
    openDialog("Add a group", [say("Links that you have sent will not fit any more: the question changes."), row], {
      yes: "Add it", no: "Cancel",
      act: async () => {
        await checked(post(`/api/campaigns/${id}/groups`, { labels: [label.value.trim()] }));
        await done();
      },
    });
  },

  print: () => window.print(),

  // -- administrators: their `about` is that of a token --

  person(_, done) {
    const [who, name] = field("Name", { maxlength: 200, required: "" });
    const roles = roleList();
    const [until, day] = field("Last day (optional)", { id: "dialog-day", type: "date", min: today() });
    openDialog("New administrator", [who, el("div", {}, el("label", { for: "dialog-role" }, "Role"), roles), until], {
      yes: "Make a token", no: "Cancel",
      act: async () => {
        const made = await (await checked(post("/api/tokens", { name: name.value, role: roles.value, expires: day.value || null }))).json();
        await done();
        return showToken(name.value, made.token);
      },
    });
  },

  account(_, done) {
    const [who, name] = field("Name", { maxlength: 200, required: "" });
    const [row, invited] = field("E-mail address, or the provider’s subject", { id: "dialog-invited", maxlength: 200, required: "", spellcheck: "false", autocomplete: "off" });
    const roles = roleList();
    openDialog("Invite somebody", [who, row, el("div", {}, el("label", { for: "dialog-role" }, "Role"), roles)], {
      yes: "Invite", no: "Cancel",
      act: async () => {
        await checked(post("/api/accounts", { name: name.value, invited: invited.value, role: roles.value }));
        await done();
      },
    });
  },

  uninvite: ({ id, name }, done) => confirmed(`Delete the account of ${name}?`, "Whoever is signed in with it no longer is.", "Delete it", async () => {
    await checked(send("DELETE", `/api/accounts/${id}`));
    await done();
  }),

  rotate: ({ id, name }, done) => confirmed(`Replace the token of ${name}?`, "The old one stops working at once.", "Replace it", async () => {
    const made = await (await checked(post(`/api/tokens/${id}/rotate`, {}))).json();
    await done();
    return showToken(name, made.token);
  }),

  drop: ({ id, name }, done) => confirmed(`Delete the token of ${name}?`, "It stops working at once.", "Delete it", async () => {
    await checked(send("DELETE", `/api/tokens/${id}`));
    await done();
  }),
};

const roleList = () => el("select", { id: "dialog-role" }, ...["viewer", "editor", "owner"].map((one) => el("option", { value: one }, one)));

function showToken(/** @type {string} */ name, /** @type {string} */ token) {
  openDialog(`The token of ${name}`, [say("It is not shown again. This link signs in with it:"), copyable(whole(`/#token=${token}`), "Link that signs in")]);
  return "stay";
}

/** A cell of a table for spreadsheets, none of which takes it for a formula. @param {any} value */
function cell(value) {
  const text = /^[=+\-@\t\r]/.test(String(value)) ? `'${value}` : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

const today = () => new Date().toISOString().slice(0, 10);

/** Let the browser save a file. @param {Blob} blob @param {string} name */
export function save(blob, name) {
  const link = el("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

/** Fetch a file with the token and save it. @param {string} path @param {string} name */
export const download = async (path, name) => save(await (await checked(call(path))).blob(), name);
