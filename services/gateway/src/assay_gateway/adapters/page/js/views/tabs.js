// A bar of tabs with the panel that they change.

import { h, replace } from "../dom.js";
import { t } from "../i18n.js";
import { note } from "../router.js";
import { loading, problem } from "../ui.js";

/** `tabs`: views by name; `base`: the address of the first one, which the others' begin with. */
export function tabbed(tabs, chosen, base, about) {
  const panel = h("div", { role: "tabpanel", id: "panel", class: "stack", tabindex: "0" });
  const [first] = Object.keys(tabs);
  const buttons = Object.keys(tabs).map((name) =>
    h("button", { role: "tab", id: `tab-${name}`, "aria-controls": "panel", on: { click: () => choose(name) } }, t(`tab.${name}`)),
  );
  const bar = h("div", { class: "tabs", role: "tablist", "aria-label": t("tab.name"), on: { keydown: moved } }, buttons);

  function moved(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const at = buttons.indexOf(document.activeElement);
    const next = buttons[(at + step + buttons.length) % buttons.length];
    next.focus();
    next.click();
  }

  async function choose(name) {
    for (const button of buttons) {
      const mine = button.id === `tab-${name}`;
      button.setAttribute("aria-selected", String(mine));
      button.tabIndex = mine ? 0 : -1;
    }
    panel.setAttribute("aria-labelledby", `tab-${name}`);
    note(name === first ? base : `${base}/${name}`);
    replace(panel, loading());
    try {
      const content = await tabs[name](about);
      if (panel.getAttribute("aria-labelledby") === `tab-${name}`) replace(panel, content);
    } catch (error) {
      if (about.signal.aborted || error.status === 401) return;
      replace(panel, problem(error, () => choose(name)));
    }
  }

  choose(chosen in tabs ? chosen : first);
  return [bar, panel];
}
