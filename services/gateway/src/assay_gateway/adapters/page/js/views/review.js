// What may be done with a skill: each action asks first, and says what came of it.

import { post, send } from "../api.js";
import { h } from "../dom.js";
import { t } from "../i18n.js";
import { go, show } from "../router.js";
import { ask } from "../dialog.js";
import { toast } from "../ui.js";

const LOOKS = { approve: "primary", reject: "danger", delete: "danger" };

export function actions(skill, allowed) {
  const possible = allowed.filter((each) => each !== "approve" || skill.verdict === "passed");
  return h(
    "div",
    { class: "actions" },
    possible.map((each) =>
      h("button", { class: LOOKS[each], "data-action": each, on: { click: () => start(each, skill) } }, t(`review.${each}`)),
    ),
  );
}

async function start(action, skill) {
  const answer = await ask({
    title: t(`review.${action}-title`, { name: skill.name }),
    body: h("p", null, t(`review.${action}-text`)),
    confirm: t(`review.${action}`),
    danger: LOOKS[action] === "danger",
    reason: action === "reject" ? t("review.reason") : null,
    act: (reason) => carryOut(action, skill.skill_id, reason),
  });
  if (!answer) return;
  const version = answer.runtime_image_version ?? "";
  toast(t(`review.${action}-done`, { name: skill.name, version }));
  if (action === "delete") go("#/skills");
  else show({ moved: true });
}

async function carryOut(action, id, reason) {
  if (action === "delete") return (await send("DELETE", `skills/${id}`)).json();
  return post(`skills/${id}/${action}`, reason === null ? {} : { json: { reason } });
}
