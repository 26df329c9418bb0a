// One skill: what it is, how far it is, what may be done with it, and its report.

import { get } from "../api.js";
import { h, replace } from "../dom.js";
import { t } from "../i18n.js";
import { note, show } from "../router.js";
import { allowedFor, isOpen } from "../rules.js";
import { badge, empty, loading, problem, said } from "../ui.js";
import { skillAudit } from "./audit.js";
import { contents } from "./contents.js";
import { dependencies } from "./dependencies.js";
import { history } from "./history.js";
import { network } from "./network.js";
import { overview } from "./overview.js";
import { followProgress } from "./progress.js";
import { actions } from "./review.js";
import { tasks } from "./tasks.js";

const TABS = { overview, tasks, network, dependencies, history, contents, audit: skillAudit };
const OF_REPORT = ["overview", "tasks", "network", "dependencies"];

export async function skillView({ params: [id, tab = "overview"], signal }) {
  const skill = await get(`skills/${id}`, { signal });
  const report = isOpen(skill) || !skill.verdict ? null : await newestReport(id, signal);
  const open = isOpen(skill);
  return [
    h("p", { class: "crumb" }, h("a", { href: "#/skills" }, t("nav.skills")), " / ", skill.name),
    h(
      "div",
      { class: "title-row" },
      h(
        "div",
        null,
        h(
          "div",
          { class: "title-line" },
          h("h1", { class: "wrap" }, skill.name),
          badge("status", skill.status),
          skill.verdict && !open && badge("verdict", skill.verdict),
        ),
        h("p", { class: "muted wrap" }, skill.description),
      ),
      actions(skill, allowedFor(skill)),
    ),
    open && followProgress(skill, signal, () => show()),
    tabbed(Object.keys(TABS).includes(tab) ? tab : "overview", { skill, report, signal, open }),
  ];
}

async function newestReport(id, signal) {
  try {
    return await get(`skills/${id}/report`, { signal });
  } catch (error) {
    if (error.code === "VALIDATION_NOT_COMPLETED") return null;
    throw error;
  }
}

function tabbed(first, about) {
  const panel = h("div", { role: "tabpanel", id: "panel", class: "stack", tabindex: "0" });
  const buttons = Object.keys(TABS).map((name) =>
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
    note(`#/skills/${about.skill.skill_id}${name === "overview" ? "" : `/${name}`}`);
    replace(panel, loading());
    try {
      const content = await shown(name, about);
      if (panel.getAttribute("aria-labelledby") === `tab-${name}`) replace(panel, content);
    } catch (error) {
      if (about.signal.aborted || error.status === 401) return;
      replace(panel, problem(error, () => choose(name)));
    }
  }

  choose(first);
  return [bar, panel];
}

async function shown(name, about) {
  if (OF_REPORT.includes(name) && !about.report) return h("div", { class: "card" }, noReport(about));
  return TABS[name](about);
}

function noReport({ skill, open }) {
  if (open) return empty(t("report.later"), t("report.later-text"));
  return empty(t("report.none"), skill.reason ? said(skill.reason) : t("report.none-text"));
}
