// What a skill says it needs, and what was installed because of it or without a word.

import { h, icon } from "../dom.js";
import { named, number, t, tn } from "../i18n.js";
import { card, empty, facts, names, notice, table } from "../ui.js";

const ORIGINS = { declared: ["good", "check"], pulled_in: ["", "dash"], undeclared: ["warn", "alert"] };

export async function dependencies({ report }) {
  return [
    declared(report.dependencies),
    report.dependency_report && compared(report.dependency_report),
    counts(report.runs),
    changes(report.regressions),
  ];
}

function declared(given) {
  const kinds = Object.entries(given).filter(([, list]) => list.length > 0);
  const body =
    kinds.length === 0
      ? h("p", { class: "muted" }, t("dependencies.none-declared"))
      : facts(kinds.map(([kind, list]) => [named("ecosystem", kind), names(list)]));
  return card(t("dependencies.declared"), body);
}

function compared({ mode, installed, removed, unmet }) {
  const title = t("dependencies.installed");
  const sneaked = installed.filter((each) => each.origin === "undeclared").length;
  return [
    sneaked > 0 && notice(`${tn("dependencies.sneaked", sneaked)} ${t(`dependencies.${mode}`)}`),
    unmet.length > 0 && card(t("dependencies.unmet"), names(unmet.map(missing))),
    h("h2", { class: "section-title" }, title),
    installed.length === 0
      ? h("div", { class: "card" }, empty(t("dependencies.none"), t("dependencies.none-text")))
      : table(title, columns(), installed.map(row)),
    removed.length > 0 && card(t("dependencies.removed"), names(removed.map((each) => `${each.name} ${each.version}`))),
  ];
}

const columns = () => [
  t("dependencies.package"),
  t("dependencies.version"),
  t("dependencies.origin"),
  t("dependencies.needed-by"),
  t("dependencies.kind"),
];

function row(each) {
  const [tone, sign] = ORIGINS[each.origin] ?? ["", "dash"];
  const version = each.version_before ? `${each.version_before} → ${each.version}` : each.version;
  return [
    h("code", { class: "wrap" }, each.package),
    h("code", { class: "wrap" }, version),
    h("span", { class: `badge ${tone}` }, icon(sign), named("origin", each.origin)),
    each.needed_by.length > 0 ? names(each.needed_by) : "–",
    named("ecosystem", each.ecosystem),
  ];
}

function missing(each) {
  return `${each.requirement} (${each.installed_version ?? t("dependencies.not-there")})`;
}

function counts(runs) {
  if (runs.length === 0) return null;
  const list = runs.map((run) => {
    const values = { before: number(run.packages_before), after: number(run.packages_after) };
    return [named("run", run.kind), t("dependencies.counts", values)];
  });
  return card(t("dependencies.numbers"), facts(list));
}

function changes(regressions) {
  const rows = regressions
    .flatMap((each) => each.explained_by.map((change) => ({ ...change, broken: each.skill_name })))
    .map((change) => [
      h("code", null, change.package),
      h("code", null, `${change.old_version} → ${change.new_version ?? t("regression.removed")}`),
      names(change.used_by),
      h("code", null, change.broken),
      h("code", null, change.suggested_constraint),
    ]);
  if (rows.length === 0) return null;
  const title = t("dependencies.changes");
  const heads = [
    t("dependencies.package"),
    t("dependencies.change"),
    t("dependencies.used-by"),
    t("dependencies.breaks"),
    t("regression.constraint"),
  ];
  return [h("h2", { class: "section-title" }, title), table(title, heads, rows)];
}
