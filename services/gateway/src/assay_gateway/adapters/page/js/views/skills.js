// Skills by status, with search.

import { get } from "../api.js";
import { h, icon, replace } from "../dom.js";
import { moment, number, score, t, tn } from "../i18n.js";
import { note } from "../router.js";
import { isOpen, PASS_MARK, STATUSES } from "../rules.js";
import { announce, badge, empty, keepingFocus, pager, problem, table } from "../ui.js";

const SIZE = 20;
const TYPING_MS = 250;
const LOOK_AGAIN_MS = 4000;

export async function skillsView({ query, signal }) {
  const asked = {
    status: query.get("status") ?? "",
    q: query.get("q") ?? "",
    page: Number(query.get("page")) || 1,
  };
  const filters = h("div", { class: "filters", role: "group", "aria-label": t("skills.by-status") });
  const results = h("div");
  let timer = null;
  let typing = null;
  signal.addEventListener("abort", () => {
    clearTimeout(timer);
    clearTimeout(typing);
  });

  async function update({ quiet = false } = {}) {
    clearTimeout(timer);
    const hash = new URLSearchParams(Object.entries(asked).filter(([, value]) => value && value !== 1));
    note(`#/skills${hash.size ? `?${hash}` : ""}`);
    const { status, q, page } = asked;
    const wanted = JSON.stringify(asked);
    try {
      const [found, counts] = await Promise.all([
        get("skills", { query: { status, q, page, size: SIZE }, signal }),
        countByStatus(q, signal),
      ]);
      if (wanted !== JSON.stringify(asked)) return;
      keepingFocus(filters, () => replace(filters, filterButtons(counts)));
      keepingFocus(results, () => replace(results, list(found)));
      if (!quiet) announce(tn("skills.found", found.total));
      if (found.skills.some(isOpen)) timer = setTimeout(() => update({ quiet: true }), LOOK_AGAIN_MS);
    } catch (error) {
      if (signal.aborted || error.status === 401) return;
      replace(results, problem(error, () => update()));
    }
  }

  function choose(change) {
    Object.assign(asked, { page: 1 }, change);
    return update();
  }

  function filterButtons(counts) {
    return ["", ...STATUSES].map((status) =>
      h(
        "button",
        {
          class: "filter",
          "aria-pressed": String(status === asked.status),
          on: { click: () => choose({ status }) },
        },
        status ? t(`status.${status}`) : t("skills.all"),
        " ",
        h("span", { class: "count number" }, number(counts[status])),
      ),
    );
  }

  function list(found) {
    if (found.total === 0) return h("div", { class: "card" }, nothing());
    const columns = [
      t("skills.skill"),
      t("skills.status"),
      t("skills.stage"),
      t("skills.score"),
      t("skills.validated"),
    ];
    return table(t("skills.title"), columns, found.skills.map(row), pager(found, turn));
  }

  function nothing() {
    if (asked.q || asked.status) {
      const all = h("button", { on: { click: clear } }, t("skills.show-all"));
      return empty(t("skills.none-found"), t("skills.none-found-text"), all);
    }
    const first = h("a", { class: "button primary", href: "#/upload" }, icon("up"), t("do.upload"));
    return empty(t("skills.none"), t("skills.none-text"), first);
  }

  function clear() {
    search.value = "";
    choose({ status: "", q: "" });
    search.focus();
  }

  function turn(page) {
    asked.page = page;
    update();
  }

  const search = h("input", {
    id: "search",
    type: "search",
    value: asked.q,
    maxlength: 200,
    placeholder: t("skills.search-hint"),
    "aria-label": t("skills.search"),
    on: {
      input: () => {
        clearTimeout(typing);
        typing = setTimeout(() => choose({ q: search.value.trim() }), TYPING_MS);
      },
    },
  });
  await update({ quiet: true });
  return [
    h(
      "div",
      { class: "title-row" },
      h("h1", null, t("skills.title")),
      h("a", { class: "button primary", href: "#/upload" }, icon("up"), t("do.upload")),
    ),
    h("div", { class: "filter-row" }, filters, h("div", { class: "search", role: "search" }, search)),
    results,
  ];
}

async function countByStatus(q, signal) {
  const totals = ["", ...STATUSES].map(async (status) => {
    const { total } = await get("skills", { query: { status, q, size: 1 }, signal });
    return [status, total];
  });
  return Object.fromEntries(await Promise.all(totals));
}

function row(skill) {
  return [
    h(
      "div",
      { class: "skill-cell" },
      h("a", { href: `#/skills/${skill.skill_id}`, class: "mono" }, skill.name),
      h("p", { class: "muted small clamp" }, skill.description),
    ),
    badge("status", skill.status),
    skill.validation_stage ? badge("stage", skill.validation_stage) : "–",
    scoreCell(skill.validation_score),
    h("span", { class: "moment" }, moment(skill.validated_at)),
  ];
}

function scoreCell(value) {
  if (value === null || value === undefined) return h("span", { class: "muted" }, "–");
  const passed = value >= PASS_MARK;
  return h(
    "span",
    { class: `score-cell ${passed ? "good" : "bad"}` },
    h("meter", { min: 0, max: 100, value, "aria-hidden": "true" }),
    h("span", { class: "number" }, score(value)),
  );
}
