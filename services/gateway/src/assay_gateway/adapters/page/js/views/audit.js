// Who did what, when.

import { get } from "../api.js";
import { h } from "../dom.js";
import { moment, named, t } from "../i18n.js";
import { empty, paged, pager, table } from "../ui.js";

const SIZE = 50;

export async function auditView({ signal }) {
  return [
    h(
      "div",
      { class: "title-row" },
      h("div", null, h("h1", null, t("audit.title")), h("p", { class: "muted" }, t("audit.text"))),
    ),
    await log({ signal }),
  ];
}

export async function skillAudit({ skill, signal }) {
  return log({ signal, skill_id: skill.skill_id });
}

async function log({ signal, skill_id }) {
  const load = (page) => get("audit", { query: { skill_id, page, size: SIZE }, signal });
  return paged(h("div"), load, shown, signal);
}

function shown(found, turn) {
  if (found.total === 0) return h("div", { class: "card" }, empty(t("audit.none"), t("audit.none-text")));
  const rows = found.entries.map((entry) => [
    h("span", { class: "moment" }, moment(entry.at)),
    entry.actor,
    named("action", entry.action),
    entry.skill_name && h("code", { class: "wrap" }, entry.skill_name),
    h(
      "span",
      { class: "small wrap" },
      Object.entries(entry.details).map(([name, value]) => h("div", null, h("span", { class: "muted" }, `${name}: `), value)),
    ),
  ]);
  const columns = [t("audit.when"), t("audit.who"), t("audit.what"), t("skills.skill"), t("audit.details")];
  return table(t("audit.title"), columns, rows, pager(found, turn));
}
