// Runtime versions, and going back to one of them.

import { get, post } from "../api.js";
import { h, icon } from "../dom.js";
import { moment, t, tn } from "../i18n.js";
import { ask } from "../dialog.js";
import { show } from "../router.js";
import { names, problem, table, toast } from "../ui.js";

export async function runtimeView({ signal }) {
  const found = await get("images", { signal });
  const rows = found.versions.map((each) => [
    h("code", null, each.version),
    state(each),
    each.skill_name ? added(each) : h("span", { class: "muted" }, t("runtime.base")),
    each.built_on ? h("code", null, each.built_on) : "–",
    h("span", { class: "moment" }, moment(each.created_at)),
    each.created_by,
    each.is_available && !each.is_current && rollBackButton(each.version, found.current_version),
  ]);
  const columns = [
    t("dependencies.version"),
    t("skills.status"),
    t("runtime.adds"),
    t("runtime.built-on"),
    t("runtime.made"),
    t("audit.who"),
    h("span", { class: "unseen" }, t("runtime.do")),
  ];
  return [
    h(
      "div",
      { class: "title-row" },
      h("div", null, h("h1", null, t("runtime.title")), h("p", { class: "muted" }, t("runtime.text"))),
    ),
    table(t("runtime.title"), columns, rows),
  ];
}

function added(version) {
  return version.skill_id
    ? h("a", { class: "mono", href: `#/skills/${version.skill_id}` }, version.skill_name)
    : h("code", null, version.skill_name);
}

function state(version) {
  if (version.is_current) return h("span", { class: "badge good" }, icon("check"), t("runtime.current"));
  if (version.is_available) return h("span", { class: "badge" }, icon("clock"), t("runtime.kept"));
  return h("span", { class: "badge" }, icon("dash"), t("runtime.gone"));
}

function rollBackButton(target, current) {
  const start = () => rollBack(target, current);
  return h("button", { "data-version": target, on: { click: start } }, icon("back"), t("runtime.make-current", { version: target }));
}

async function rollBack(target, current) {
  const answer = await ask({
    title: t("runtime.rollback-title", { current, target }),
    body: await effects(target),
    confirm: t("runtime.make-current", { version: target }),
    danger: true,
    act: () => post("images/rollback", { json: { target_version: target } }),
  });
  if (!answer) return;
  toast(t("runtime.rolled-back", { version: answer.current_version }));
  show({ moved: true });
}

/** What it will do, before it is done. */
async function effects(target) {
  try {
    const preview = await get(`images/${target}/rollback-preview`);
    const none = preview.affected_skills.length + preview.restored_skills.length === 0;
    return [
      none && h("p", null, t("runtime.no-effect")),
      effect(tn("runtime.hides", preview.affected_skills.length), preview.affected_skills),
      effect(tn("runtime.restores", preview.restored_skills.length), preview.restored_skills),
    ];
  } catch (error) {
    return problem(error);
  }
}

function effect(words, skills) {
  return skills.length > 0 && h("div", null, h("p", null, words), names(skills));
}
