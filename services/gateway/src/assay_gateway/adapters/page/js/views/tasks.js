// Tasks with their grades, and on demand the trace of what an agent did.

import { get } from "../api.js";
import { h, icon, replace } from "../dom.js";
import { gradePoints } from "../charts.js";
import { named, number, seconds, t, tn } from "../i18n.js";
import { code, empty, facts, loading, names, problem, said, yesNo } from "../ui.js";

export async function tasks(about) {
  const { report } = about;
  if (report.tasks.length === 0) {
    return h("div", { class: "card" }, empty(t("tasks.none"), t("tasks.none-text")));
  }
  return report.tasks.map((task) => taskCard(task, about));
}

function taskCard(task, about) {
  const runs = about.report.runs
    .map((run) => ({
      run,
      outcome: run.outcomes.find((each) => each.task_id === task.task_id),
      grade: run.grades.find((each) => each.task_id === task.task_id),
    }))
    .filter(({ outcome, grade }) => outcome || grade);
  const grades = runs.map(({ run, grade }) =>
    h("span", { class: "grade-of" }, h("span", { class: "muted" }, named("run", run.kind)), grade ? gradePoints(grade.grade) : "–"),
  );
  return h(
    "article",
    { class: "card task", "data-task": task.task_id },
    h("div", { class: "card-head" }, h("h2", null, t("tasks.task", { id: task.task_id })), h("div", { class: "grades" }, grades)),
    h(
      "div",
      { class: "card-body" },
      h("p", { class: "quote prompt" }, task.prompt),
      facts([
        [t("tasks.criterion"), h("span", { class: "quote" }, task.success_criterion)],
        [t("tasks.inputs"), task.files.length > 0 ? inputs(task.files) : null],
      ]),
      h("div", { class: "runs" }, runs.map(({ run, outcome, grade }) => runPart(run, outcome, grade, about))),
    ),
  );
}

function inputs(files) {
  return files.map((file) =>
    h("details", null, h("summary", { class: "mono" }, file.path), code(file.content, file.path)),
  );
}

function runPart(run, outcome, grade, about) {
  const used = outcome?.skills_used.some((each) => each.skill === about.report.skill_name);
  return h(
    "section",
    { class: "run-part" },
    h(
      "div",
      { class: "run-head" },
      h("h3", null, named("run", run.kind)),
      outcome && (outcome.attribution ? part(outcome.attribution) : yesNo(used, t("tasks.used"), t("tasks.not-used"))),
      outcome && h("span", { class: "muted small" }, tn("tasks.commands", outcome.commands), " · ", seconds(outcome.seconds)),
    ),
    obstacles(outcome?.obstacles ?? []),
    grade && h("p", { class: "quote" }, grade.reasons),
    grade && lowered(grade),
    grade && evidence(grade.evidence),
    outcome && checks(outcome.checks, grade?.contested_checks ?? []),
    outcome && outcome.files_made.length > 0 && facts([[t("tasks.files-made"), names(outcome.files_made)]]),
    outcome && trace(run, outcome, about),
  );
}

/** What part the skill had in the work, as the trace shows it. */
function part({ kind }) {
  const tone = kind === "with" ? "good" : "bad";
  return h("span", { class: `badge ${tone}` }, icon(kind === "with" ? "check" : "cross"), named("part", kind));
}

function obstacles(list) {
  if (list.length === 0) return null;
  const items = list.map((each) =>
    h("li", { class: "wrap" }, `${named("obstacle", each.kind)}: `, said(`${each.what}. ${each.advice}`)),
  );
  return h("div", { class: "notice" }, icon("alert"), h("ul", { class: "bullets" }, items));
}

/** What the judge gave, and the rules by which code lowered it. Older reports say nothing of it. */
function lowered(grade) {
  const rules = grade.lowered_by ?? [];
  if (rules.length === 0) return null;
  return h(
    "div",
    { class: "notice lowered" },
    icon("alert"),
    h(
      "div",
      null,
      h("strong", null, t("tasks.lowered", { own: number(grade.judge_grade), grade: number(grade.grade) })),
      h("ul", { class: "bullets" }, rules.map((each) => h("li", null, said(each.reason), " ", h("code", null, each.rule)))),
    ),
  );
}

function evidence(list) {
  const items = list.map((each) =>
    h("li", null, h("blockquote", { class: "quote mono" }, each.quote), h("span", { class: "muted small" }, each.source)),
  );
  return h("details", null, h("summary", null, tn("tasks.evidence", list.length)), h("ul", { class: "evidence" }, items));
}

function checks(list, contests) {
  if (list.length === 0) return null;
  const contested = new Map(contests.map((each) => [each.check, each]));
  const items = list.map((each, index) =>
    h(
      "li",
      null,
      yesNo(each.passed, t("check.passed"), t("check.failed")),
      h("code", { class: "wrap" }, checked(each.check)),
      h("span", { class: "muted small wrap" }, said(each.detail)),
      contest(contested.get(index + 1)),
    ),
  );
  return h("ul", { class: "checks", "aria-label": t("tasks.checks") }, items);
}

function contest(found) {
  if (!found) return null;
  const counts = t(found.left_out ? "check.contested-left-out" : "check.contested-counts");
  return h("span", { class: "small wrap" }, h("strong", null, t("check.contested")), ` (${counts}) `, said(found.reason));
}

function checked(check) {
  if (check.kind === "command") return check.command;
  if (check.kind === "program") return check.source;
  if (check.kind === "file") return t("check.file", { path: check.path });
  return t("check.pattern", { pattern: check.pattern, path: check.path ?? t("check.answer") });
}

function trace(run, outcome, { skill, report, signal }) {
  const body = h("div");
  const load = async () => {
    if (!details.open || body.childElementCount > 0) return;
    replace(body, loading());
    const path = `skills/${skill.skill_id}/traces/${run.kind}/${outcome.task_id}`;
    try {
      replace(body, traceBody(await get(path, { query: { validation_id: report.validation_id }, signal })));
    } catch (error) {
      replace(body, problem(error, load), actions(outcome.actions));
    }
  };
  const details = h("details", { class: "trace", on: { toggle: load } }, h("summary", null, t("tasks.trace")), body);
  return details;
}

function actions(list) {
  return h("ol", { class: "bullets" }, list.map((each) => h("li", { class: "mono wrap" }, each)));
}

export function traceBody(found) {
  return [
    h("ol", { class: "trace-steps" }, found.steps.map(step)),
    facts([
      [t("trace.answer"), h("span", { class: "quote" }, found.answer)],
      [t("trace.skills"), found.skills_used.map((each) => h("div", { class: "wrap" }, `${each.skill}: `, h("code", null, each.evidence)))],
      [t("trace.bounds"), found.bounds_hit.map((each) => named("bound", each)).join(", ")],
    ]),
  ];
}

function step(each, index) {
  const exit = each.exit_code === null ? null : t("trace.exit", { code: each.exit_code });
  return h(
    "li",
    { class: each.failed ? "failed" : null },
    h(
      "div",
      { class: "run-head" },
      h("strong", null, `${number(index + 1)}. `, h("code", null, each.tool)),
      each.failed && h("span", { class: "badge bad" }, icon("cross"), t("trace.failed")),
      h("span", { class: "muted small" }, [exit, seconds(each.seconds), each.truncated && t("trace.truncated")].filter(Boolean).join(" · ")),
    ),
    code(readable(each.arguments), t("trace.arguments")),
    each.output && code(each.output, t("trace.output")),
  );
}

/** Arguments come as JSON; a lone one needs no braces to be read. */
function readable(text) {
  try {
    const given = JSON.parse(text);
    const values = Object.values(given);
    if (values.length === 1 && typeof values[0] === "string") return values[0];
    return JSON.stringify(given, null, 2);
  } catch {
    return text;
  }
}
