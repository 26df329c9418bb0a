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
    let underway = false;
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
      underway = button.disabled = true;
      try {
        done = await act(text ? text.value.trim() : null);
      } catch (error) {
        replace(refused, problem(error));
      }
      underway = button.disabled = false;
      if (done && dialog.open) dialog.close();
      else if (done) resolve(done);
      else if (!dialog.open) open();
    }

    function closed() {
      if (dialog.open) return;
      dialog.remove();
      // What was asked for is not called back by closing: what comes of it is still told.
      if (!underway) resolve(done);
    }

    function open() {
      document.body.append(dialog);
      dialog.showModal();
    }

    open();
  });
}
