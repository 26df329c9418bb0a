// One full test, live, skill by skill.

import { get, post } from "../api.js";
import { h, icon, replace } from "../dom.js";
import { between, moment, number, score, t } from "../i18n.js";
import { ask } from "../dialog.js";
import { show } from "../router.js";
import { follow } from "../sse.js";
import { announce, badge, empty, facts, keepingFocus, problem, said, table, toast } from "../ui.js";

export async function fullTestView({ params: [id], signal }) {
  const first = await get(`full-tests/${id}`, { signal });
  const region = h("div", { class: "stack" });
  const refused = h("div");
  const live = h("span", { class: "muted small" });
  let done = first.counts.done;

  const draw = (test) => keepingFocus(region, () => replace(region, shown(test, live)));
  function heard(event, test) {
    if (event === "problem") {
      replace(refused, problem(test));
      return true;
    }
    if (event !== "status") return false;
    draw(test);
    if (test.counts.done !== done) {
      done = test.counts.done;
      announce(t("full-test.at", { done, total: test.counts.total }));
    }
    if (test.status === "running") return false;
    announce(t(`full_test.${test.status}`));
    show();
    return true;
  }

  draw(first);
  const running = first.status === "running";
  if (running) {
    const connected = (yes) => replace(live, yes ? t("progress.live") : t("progress.reconnecting"));
    follow(`full-tests/${id}/events`, { signal, heard, connected }).catch((error) =>
      replace(refused, problem(error, () => show())),
    );
  }
  return [
    h("p", { class: "crumb" }, h("a", { href: "#/full-tests" }, t("nav.full-tests")), " / ", moment(first.started_at)),
    h(
      "div",
      { class: "title-row" },
      h("div", { class: "title-line" }, h("h1", null, t("full-test.title")), badge("full_test", first.status)),
      running && h("button", { class: "danger", on: { click: () => cancel(id) } }, t("full-test.cancel")),
    ),
    refused,
    region,
  ];
}

async function cancel(id) {
  const done = await ask({
    title: t("full-test.cancel-title"),
    body: h("p", null, t("full-test.cancel-text")),
    confirm: t("full-test.cancel"),
    danger: true,
    act: () => post(`full-tests/${id}/cancel`),
  });
  if (!done) return;
  toast(t("full-test.cancelled"));
  show({ moved: true });
}

function shown(test, live) {
  const { counts } = test;
  return [
    h(
      "section",
      { class: "card" },
      h("div", { class: "card-head" }, h("h2", null, t("full-test.progress")), live),
      h(
        "div",
        { class: "card-body" },
        h("progress", { class: "bar", max: Math.max(1, counts.total), value: counts.done, "aria-label": t("full-test.progress") }),
        h("p", null, t("full-test.at", { done: number(counts.done), total: number(counts.total) })),
        tallies(counts),
        facts([
          [t("facts.runtime"), h("code", null, test.runtime_version)],
          [t("full-tests.by"), test.started_by],
          [t("facts.took"), test.completed_at && between(test.started_at, test.completed_at)],
        ]),
      ),
    ),
    test.skills.length === 0
      ? h("div", { class: "card" }, empty(t("full-test.none"), t("full-test.none-text")))
      : skillTable(test.skills),
  ];
}

function tallies(counts) {
  const kinds = ["passed", "failed", "inconclusive"].filter((each) => counts[each] > 0);
  return h(
    "ul",
    { class: "tallies" },
    kinds.map((each) => h("li", null, badge("verdict", each), h("strong", { class: "number" }, number(counts[each])))),
    counts.worse > 0 &&
      h("li", null, h("span", { class: "badge warn" }, icon("alert"), t("full-tests.worse")), h("strong", { class: "number" }, number(counts.worse))),
  );
}

function skillTable(skills) {
  const rows = skills.map((each) => [
    h("a", { class: "mono", href: `#/skills/${each.skill_id}` }, each.skill_name),
    each.verdict ? badge("verdict", each.verdict) : stepBadge(each.step),
    score(each.scores_before?.overall),
    score(each.scores?.overall),
    each.tasks > 0 ? number(each.tasks) : "–",
    [
      each.worse && h("span", { class: "badge warn" }, icon("alert"), t("full-tests.worse")),
      each.reason && said(each.reason, "p", { class: "small wrap" }),
      each.changes.map((line) => said(line, "p", { class: "small wrap" })),
    ],
  ]);
  const columns = [
    t("skills.skill"),
    t("full-test.state"),
    [t("full-test.before"), "number"],
    [t("full-test.now"), "number"],
    [t("tab.tasks"), "number"],
    t("history.reason"),
  ];
  return table(t("full-test.title"), columns, rows);
}

function stepBadge(step) {
  const [tone, sign] = step === "queued" ? ["", "clock"] : ["busy", "run"];
  return h("span", { class: `badge ${tone}` }, icon(sign), t(`step.${step}`));
}
