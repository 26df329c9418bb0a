// One skill: what it is, how far it is, what may be done with it, and its report.

import { get } from "../api.js";
import { h } from "../dom.js";
import { t } from "../i18n.js";
import { show } from "../router.js";
import { allowedFor, isOpen } from "../rules.js";
import { badge, empty, said } from "../ui.js";
import { skillAudit } from "./audit.js";
import { contents } from "./contents.js";
import { history } from "./history.js";
import { followProgress } from "./progress.js";
import { actions } from "./review.js";
import { tabbed } from "./tabs.js";
import { REPORT_TABS } from "./validation.js";

const OF_REPORT = Object.entries(REPORT_TABS).map(([name, view]) => [name, onceReported(view)]);
const TABS = { ...Object.fromEntries(OF_REPORT), history, contents, audit: skillAudit };

export async function skillView({ params: [id, tab], signal }) {
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
    tabbed(TABS, tab, `#/skills/${id}`, { skill, report, signal, open }),
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

function onceReported(view) {
  return async (about) => (about.report ? view(about) : h("div", { class: "card" }, noReport(about)));
}

function noReport({ skill, open }) {
  if (open) return empty(t("report.later"), t("report.later-text"));
  return empty(t("report.none"), skill.reason ? said(skill.reason) : t("report.none-text"));
}
