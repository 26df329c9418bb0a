// What the verdict rests on: defects, how much was tried, how sure it is, and what it cost.

import { h, icon } from "../dom.js";
import { named, number, score, t } from "../i18n.js";
import { card, facts, notice, said, table } from "../ui.js";

const STATES = {
  worked: ["good", "check"],
  failed: ["bad", "cross"],
  blocked: ["warn", "alert"],
  unclear: ["", "dash"],
  not_tried: ["", "dash"],
};

export function defectsCard(defects = []) {
  if (defects.length === 0) return null;
  const items = defects.map((each) =>
    h(
      "li",
      { class: "wrap" },
      h("code", null, each.program),
      ` (${each.tasks.join(", ")}): `,
      h("code", null, each.command),
      " ",
      said(each.error),
    ),
  );
  return card(t("defects.title"), h("p", null, t("defects.text")), h("ul", { class: "bullets" }, items));
}

/** Older reports say nothing of it. */
export function coverageCard(coverage) {
  if (!coverage || coverage.total === 0) return null;
  const rows = coverage.items.map((each) => {
    const [tone, sign] = STATES[each.state] ?? ["", "dash"];
    return [
      h("code", { class: "wrap" }, each.what),
      [named("item", each.kind), each.line ? ` · ${t("coverage.line", { n: number(each.line) })}` : ""],
      h("span", { class: `badge ${tone}` }, icon(sign), named("covered", each.state)),
      said(each.reason, "span", { class: "wrap" }),
    ];
  });
  const title = t("coverage.title");
  const columns = [t("coverage.what"), t("coverage.kind"), t("coverage.state"), t("coverage.why")];
  const counts = {
    exercised: number(coverage.exercised),
    total: number(coverage.total),
    worked: number(coverage.worked),
  };
  return [h("h2", { class: "section-title" }, title), h("p", null, t("coverage.count", counts)), table(title, columns, rows)];
}

export function confidenceCard(confidence) {
  if (!confidence) return null;
  const { repeated_because: because, not_repeated_because: missing } = confidence;
  return card(
    t("confidence.title"),
    confidence.could_change && notice(t("confidence.could-change")),
    facts([
      [t("confidence.rests"), t("confidence.counts", { tasks: confidence.tasks, tries: confidence.tries, samples: confidence.samples })],
      [t("confidence.spread"), t("confidence.points", { n: score(confidence.spread) })],
      [t("confidence.repeated"), because && `${named("repeat", because)} (${confidence.repeated_tasks.join(", ")})`],
      [t("confidence.not-repeated"), missing && named("no-repeat", missing)],
      ...confidence.pass_power.map((each) => [`pass^${each.k}`, number(each.share, 2)]),
    ]),
  );
}

/** All that was spent, by phase, what was thrown away included. */
export function costsCard(costs) {
  if (!costs || costs.lines.length === 0) return null;
  const money = (value) => (value === null ? "–" : `${number(value, 4)} ${costs.currency}`);
  const rows = costs.lines.map((each) => [
    [named("phase", each.phase), each.discarded ? ` (${t("costs.discarded")})` : ""],
    named("role", each.use.role),
    number(each.use.calls),
    number(each.use.input_tokens + each.use.output_tokens),
    money(each.money),
  ]);
  const title = t("costs.title");
  const columns = [
    t("costs.phase"),
    t("costs.role"),
    [t("costs.calls"), "number"],
    [t("costs.tokens"), "number"],
    [t("costs.money"), "number"],
  ];
  const unknown = costs.unknown.map((each) =>
    h("p", null, t("costs.unknown", { phase: named("phase", each.phase), n: number(each.attempts) })),
  );
  const after = h("div", { class: "card-body" }, h("p", null, t("costs.all", { money: money(costs.money) })), unknown);
  return [h("h2", { class: "section-title" }, title), table(title, columns, rows, after)];
}
