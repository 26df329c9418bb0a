// The report's first look: verdict, scores, words, what was tested again, and the facts.

import { download } from "../api.js";
import { h, icon, replace } from "../dom.js";
import { scorePicture } from "../charts.js";
import { between, currentLanguage, moment, named, number, seconds, t } from "../i18n.js";
import { badge, card, cardHead, facts, notice, problem, said, table, yesNo } from "../ui.js";
import { confidenceCard, costsCard, coverageCard, defectsCard } from "./measured.js";
import { findings } from "./upload.js";

export async function overview({ skill, report }) {
  const { models } = report;
  const rehearsed = models.length > 0 && models.every((each) => each.model.startsWith("rehearsal"));
  return h(
    "div",
    { class: "columns" },
    h(
      "div",
      { class: "stack" },
      verdictCard(report),
      rehearsed && notice(t("report.rehearsal")),
      defectsCard(report.defects),
      wordsCard(report.prose),
      coverageCard(report.coverage),
      report.trigger && triggerCard(report),
      report.control && liftCard(report.control),
      report.regressions.length > 0 && regressions(report.regressions),
      costsCard(report.costs),
      report.findings.length > 0 && card(t("report.findings"), findings(report.findings)),
    ),
    h("div", { class: "stack" }, factsCard(skill, report), confidenceCard(report.confidence), downloadsCard(skill, report), modelsCard(report)),
  );
}

function verdictCard(report) {
  return h(
    "section",
    { class: "card" },
    cardHead(t("report.verdict"), badge("verdict", report.verdict)),
    h(
      "div",
      { class: "card-body" },
      report.scores && scorePicture(report.scores),
      said(report.reason, "p", { class: "wrap" }),
    ),
  );
}

function wordsCard(prose) {
  if (!prose) return notice(t("report.no-prose"));
  const list = (title, items) =>
    items.length > 0 &&
    h("div", null, h("h3", null, title), h("ul", { class: "bullets" }, items.map((each) => h("li", { class: "wrap" }, each))));
  return card(
    t("report.summary"),
    h("p", { class: "wrap" }, prose.summary),
    list(t("report.strengths"), prose.strengths),
    list(t("report.weaknesses"), prose.weaknesses),
    list(t("report.recommendations"), prose.recommendations),
  );
}

function triggerCard({ trigger, taken = [] }) {
  const { crowd, neighbours, chosen_instead: instead, near_misses: nearMisses } = trigger;
  const silent = nearMisses.filter((each) => each.silent).length;
  const all = nearMisses.length;
  return card(
    t("trigger.title"),
    facts([
      [t("trigger.crowd"), t("trigger.among", { all: number(crowd.length + 1), builtin: number(neighbours.length) })],
      ...instead.map((each) => [t("trigger.instead", { task: each.task_id }), said(each.skills.join(", "))]),
      ...(all > 0 ? [[t("trigger.precision"), t("trigger.silent", { silent: number(silent), all: number(all) })]] : []),
    ]),
    silent < all && notice(t("trigger.over-broad")),
    taken.map((each) =>
      notice(t("trigger.taken", { skill: each.skill_name, tasks: each.task_ids.join(", "), how: named("theft", each.evidence) })),
    ),
  );
}

function liftCard(control) {
  if (control.lift === null) return card(t("lift.title"), h("p", null, t("lift.none")), said(control.missing, "p", { class: "wrap" }));
  return card(
    t("lift.title"),
    h("p", null, named("effect", control.effect)),
    facts([
      [t("lift.mean"), number(control.lift)],
      ...control.tasks.map((each) => [each.task_id, t("lift.grades", { grade: each.grade, without: each.grade_without })]),
    ]),
  );
}

function regressions(list) {
  const rows = list.map((each) => [
    h("a", { class: "mono", href: `#/skills/${each.skill_id}` }, each.skill_name),
    [yesNo(each.passed, t("regression.works"), t("regression.broken")), h("div", { class: "muted small" }, whyItRan(each))],
    each.tasks.map((task) => h("div", { class: "wrap" }, regressionTask(task))),
    each.explained_by.map((change) => h("p", { class: "wrap" }, explained(change))),
  ]);
  const columns = [t("skills.skill"), t("regression.result"), t("tab.tasks"), t("regression.because")];
  return [h("h2", { class: "section-title" }, t("regression.title")), table(t("regression.title"), columns, rows)];
}

/** Which results stood because nothing changed, and why the others ran. */
function whyItRan({ stood, tested_at: at, run_because: causes = [] }) {
  if (stood) return t("regression.stood", { at: moment(at) });
  return causes.map((each) => named("rerun", each)).join(", ");
}

function regressionTask(task) {
  const before = task.grade_before === null ? "" : `${task.grade_before} → `;
  const words = t("tasks.grade-of", { grade: task.grade });
  return [`${task.task_id}: ${before}${words}`, task.completed ? "" : [" – ", said(task.reasons)]];
}

function explained(change) {
  const to = change.new_version ?? t("regression.removed");
  return [
    h("code", null, `${change.package} ${change.old_version} → ${to}`),
    " ",
    t("regression.constraint"),
    " ",
    h("code", null, change.suggested_constraint),
  ];
}

function factsCard(skill, report) {
  const wall = report.runs.map((run) => run.timings && `${named("run", run.kind)} ${seconds(run.timings.wall)}`);
  return card(
    t("report.facts"),
    facts([
      [t("facts.revision"), number(report.revision)],
      [t("facts.kind"), named("kind", report.kind)],
      [t("facts.layer1"), yesNo(report.layer1_passed, t("verdict.passed"), t("verdict.failed"))],
      [t("facts.layer2"), yesNo(report.layer2_passed, t("verdict.passed"), t("verdict.failed"))],
      [t("facts.runtime"), report.runtime_version],
      [t("facts.uploaded-by"), skill.uploaded_by],
      [t("facts.uploaded"), moment(skill.created_at)],
      [t("facts.completed"), moment(report.completed_at)],
      [t("facts.took"), between(report.started_at, report.completed_at)],
      [t("facts.runs"), wall.filter(Boolean).join(", ")],
      [t("facts.rubric"), report.rubric_version],
      [t("facts.bundle"), h("code", null, report.bundle_sha256.slice(0, 16), "…")],
    ]),
  );
}

function modelsCard({ models }) {
  const list = models.map((each) => [
    named("role", each.role),
    [h("code", null, each.model), h("div", { class: "muted small" }, t("models.cost", modelCost(each)))],
  ]);
  return card(t("report.models"), facts(list));
}

function modelCost(model) {
  return {
    calls: number(model.calls),
    tokens: number(model.input_tokens + model.output_tokens),
    seconds: seconds(model.seconds),
  };
}

function downloadsCard(skill, report) {
  const refused = h("div");
  const base = `skills/${skill.skill_id}`;
  const reported = `${base}/validations/${report.validation_id}/report`;
  const file = `report-${skill.name}`;
  const button = (words, path, filename, format) => {
    const save = async () => {
      replace(refused);
      try {
        await download(path, filename, { query: { format, language: format && currentLanguage() } });
      } catch (error) {
        replace(refused, problem(error));
      }
    };
    return h("button", { on: { click: save } }, icon("down"), words);
  };
  return card(
    t("report.downloads"),
    h(
      "div",
      { class: "actions" },
      button("Markdown", reported, `${file}.md`, "markdown"),
      button("HTML", reported, `${file}.html`, "html"),
      button("JSON", reported, `${file}.json`, "json"),
      button("JUnit", reported, `${file}.xml`, "junit"),
      button(t("report.attestation"), reported, `${file}.intoto.json`, "attestation"),
      // Only the newest revision can be had.
      report.revision === skill.revision && button(t("report.bundle"), `${base}/bundle`, `${skill.name}.zip`),
    ),
    refused,
  );
}

