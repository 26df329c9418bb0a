// A validation, live, step by step.

import { add, h, icon, replace } from "../dom.js";
import { score, t } from "../i18n.js";
import { DIMENSIONS, ENDED, STEPS } from "../rules.js";
import { follow } from "../sse.js";
import { announce, problem, said } from "../ui.js";

/** A card that follows the skill's validation until it ends, and then calls `ended`. */
export function followProgress(skill, signal, ended) {
  const bar = h("progress", { class: "bar", max: 1, value: 0, "aria-label": t("progress.title") });
  const steps = h("ol", { class: "steps" });
  const now = h("p", { class: "wrap" });
  const link = h("span", { class: "muted small" });
  const refused = h("div");
  let announced = null;

  function show(status) {
    const step = status.step ?? "queued";
    bar.value = status.progress;
    replace(steps, STEPS.filter((each) => each !== "done").map((each) => item(each, step)));
    replace(now, said(status.detail || ""), tasksDone(status), scoresSoFar(status.scores));
    if (step !== announced) {
      announced = step;
      announce(t("progress.at", { name: skill.name, step: t(`step.${step}`) }));
    }
  }

  function heard(event, data) {
    if (event === "problem") {
      replace(refused, problem(data));
      return true;
    }
    if (event !== "status") return false;
    show(data);
    if (!ENDED.includes(data.validation_stage)) return false;
    announce(t("progress.ended", { name: skill.name, verdict: t(`verdict.${data.verdict ?? "inconclusive"}`) }));
    ended();
    return true;
  }

  show({ step: "queued", progress: 0, detail: "", tasks_total: 0, scores: null });
  const path = `skills/${skill.skill_id}/events`;
  const connected = (yes) => replace(link, yes ? t("progress.live") : t("progress.reconnecting"));
  follow(path, { signal, heard, connected }).catch((error) => replace(refused, problem(error, ended)));
  return h(
    "section",
    { class: "card progress", "aria-labelledby": "progress-title" },
    h("div", { class: "card-head" }, h("h2", { id: "progress-title" }, t("progress.title")), link),
    h("div", { class: "card-body" }, bar, steps, now, refused),
  );
}

function item(each, current) {
  const at = STEPS.indexOf(each) - STEPS.indexOf(current);
  const [state, sign] = at < 0 ? ["past", "check"] : at === 0 ? ["present", "run"] : ["future", "dash"];
  const words = h("span", null, t(`step.${each}`), h("span", { class: "unseen" }, ` (${t(`progress.${state}`)})`));
  return h("li", { class: `step ${state}`, "aria-current": at === 0 && "step" }, icon(sign), words);
}

function tasksDone({ tasks_done: done, tasks_total: total }) {
  return total > 0 && h("span", { class: "muted" }, " · ", t("progress.tasks", { done, total }));
}

function scoresSoFar(scores) {
  if (!scores) return null;
  const known = DIMENSIONS.filter(({ name }) => (scores[name] ?? null) !== null);
  const parts = known.map(({ name }) => `${t(`score.${name}`).toLowerCase()} ${score(scores[name])}`);
  const text = t("progress.so-far", { scores: parts.join(t("list.comma")) });
  return add(h("span", { class: "muted" }, " · "), text);
}
