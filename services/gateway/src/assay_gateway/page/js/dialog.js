// Ask before something is done that cannot be taken back by a click.

import { h, replace } from "./dom.js";
import { t } from "./i18n.js";
import { MAX_REASON } from "./rules.js";
import { problem } from "./ui.js";

/**
 * Show a dialog; `act(reason)` is called when it is confirmed, and a refusal is shown in place.
 * Resolves to what `act` answered, or null when nothing was done.
 */
export function ask({ title, body, confirm, danger = false, reason = null, act }) {
  return new Promise((resolve) => {
    let done = null;
    const refused = h("div");
    const text = reason && h("textarea", { id: "reason", required: true, maxlength: MAX_REASON });
    const button = h("button", { type: "submit", class: danger ? "danger" : "primary" }, confirm);
    const form = h(
      "form",
      { method: "dialog", on: { submit: submitted } },
      h("h2", { id: "dialog-title" }, title),
      h(
        "div",
        { class: "dialog-body" },
        body,
        text && h("div", null, h("label", { for: "reason" }, reason), text),
        refused,
      ),
      h(
        "div",
        { class: "dialog-foot" },
        h("button", { type: "button", on: { click: () => dialog.close() } }, t("do.not")),
        button,
      ),
    );
    const dialog = h("dialog", { "aria-labelledby": "dialog-title", on: { close: closed } }, form);

    async function submitted(event) {
      event.preventDefault();
      button.disabled = true;
      try {
        done = await act(text ? text.value.trim() : null);
        dialog.close();
      } catch (error) {
        replace(refused, problem(error));
        button.disabled = false;
      }
    }

    function closed() {
      dialog.remove();
      resolve(done);
    }

    document.body.append(dialog);
    dialog.showModal();
  });
}
