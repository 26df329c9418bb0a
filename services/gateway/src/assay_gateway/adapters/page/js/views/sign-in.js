import { get, token } from "../api.js";
import { h, icon, replace } from "../dom.js";
import { t } from "../i18n.js";
import { notice, problem } from "../ui.js";

/** `message` says why somebody has to sign in again; `entered` is called once the token is known. */
export function signInView(message, entered) {
  const told = h("div", { role: "alert" }, message && notice(message));
  const field = h("input", {
    id: "token",
    type: "password",
    required: true,
    autocomplete: "off",
    spellcheck: "false",
    "aria-describedby": "token-help",
  });
  const button = h("button", { class: "primary", type: "submit" }, t("sign-in.enter"));

  async function enter(event) {
    event.preventDefault();
    button.disabled = true;
    const shown = field.value.trim();
    // Kept only once it is known to be right: until then nobody is signed in.
    const headers = { Authorization: `Bearer ${shown}` };
    try {
      await get("skills", { query: { size: 1 }, headers });
      token.set(shown);
      entered();
    } catch (error) {
      replace(told, error.status === 401 ? notice(t("sign-in.wrong")) : problem(error));
      button.disabled = false;
      field.select();
      field.focus();
    }
  }

  return h(
    "div",
    { class: "sign-in card" },
    h("h1", null, t("sign-in.title")),
    h("p", { class: "muted" }, t("sign-in.text")),
    told,
    h(
      "form",
      { on: { submit: enter } },
      h("label", { for: "token" }, t("sign-in.token")),
      field,
      h("p", { id: "token-help", class: "muted small" }, icon("note"), " ", t("sign-in.help")),
      button,
    ),
  );
}
