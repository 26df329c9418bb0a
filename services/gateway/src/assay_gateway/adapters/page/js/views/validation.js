// One validation of a skill that is not the newest any more: its report, and nothing to decide.

import { get } from "../api.js";
import { h } from "../dom.js";
import { moment, t } from "../i18n.js";
import { badge } from "../ui.js";
import { dependencies } from "./dependencies.js";
import { network } from "./network.js";
import { overview } from "./overview.js";
import { tabbed } from "./tabs.js";
import { tasks } from "./tasks.js";

export const REPORT_TABS = { overview, tasks, network, dependencies };

export async function validationView({ params: [id, validation, tab], signal }) {
  const [skill, report] = await Promise.all([
    get(`skills/${id}`, { signal }),
    get(`skills/${id}/validations/${validation}/report`, { signal }),
  ]);
  const when = moment(report.completed_at);
  return [
    h(
      "p",
      { class: "crumb" },
      h("a", { href: "#/skills" }, t("nav.skills")),
      " / ",
      h("a", { href: `#/skills/${id}` }, skill.name),
      " / ",
      h("a", { href: `#/skills/${id}/history` }, t("tab.history")),
      " / ",
      when,
    ),
    h(
      "div",
      { class: "title-line" },
      h("h1", { class: "wrap" }, t("history.validation", { name: skill.name, when })),
      badge("verdict", report.verdict),
    ),
    tabbed(REPORT_TABS, tab, `#/skills/${id}/validations/${validation}`, { skill, report, signal }),
  ];
}
