// Every validation of a skill, and how its score went.

import { get } from "../api.js";
import { h } from "../dom.js";
import { historyPicture } from "../charts.js";
import { between, moment, named, number, score, t } from "../i18n.js";
import { DIMENSIONS } from "../rules.js";
import { badge, card, empty, paged, pager, said, table } from "../ui.js";

const SIZE = 20;

export async function history({ skill, signal }) {
  const path = `skills/${skill.skill_id}/validations`;
  const load = (page) => get(path, { query: { page, size: SIZE }, signal });
  return paged(h("div", { class: "stack" }), load, (found, turn) => shown(skill, found, turn), signal);
}

function shown(skill, found, turn) {
  if (found.total === 0) return h("div", { class: "card" }, empty(t("history.none"), t("history.none-text")));
  const picture = historyPicture(found.validations);
  const rows = found.validations.map((each) => [
    h("span", { class: "moment" }, opened(skill, each)),
    named("kind", each.kind),
    number(each.revision),
    each.verdict ? badge("verdict", each.verdict) : badge("stage", each.validation_stage),
    score(each.scores?.overall),
    ...DIMENSIONS.map(({ name }) => score(each.scores?.[name])),
    between(each.started_at, each.completed_at),
    each.reason ? said(each.reason, "span", { class: "small wrap" }) : "",
  ]);
  const columns = [
    t("history.when"),
    t("facts.kind"),
    [t("facts.revision"), "number"],
    t("report.verdict"),
    [t("score.overall"), "number"],
    ...DIMENSIONS.map(({ name }) => [t(`score.${name}`), "number"]),
    [t("facts.took"), "number"],
    t("history.reason"),
  ];
  return [picture && card(t("history.title"), picture), table(t("history.title"), columns, rows, pager(found, turn))];
}

function opened(skill, { validation_id, verdict, queued_at }) {
  const when = moment(queued_at);
  return verdict ? h("a", { href: `#/skills/${skill.skill_id}/validations/${validation_id}` }, when) : when;
}
