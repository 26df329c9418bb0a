import { h } from "../dom.js";
import { t } from "../i18n.js";

export async function lostView() {
  return h(
    "div",
    { class: "state" },
    h("h1", null, t("lost.title")),
    h("p", null, t("lost.text")),
    h("div", { class: "actions" }, h("a", { class: "button", href: "#/skills" }, t("lost.back"))),
  );
}
