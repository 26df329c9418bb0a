// Parts that views are put together from.

import { add, h, icon, replace } from "./dom.js";
import { named, number, t } from "./i18n.js";

const LOOKS = {
  status: {
    pending: ["", "clock"],
    validating: ["busy", "run"],
    approved: ["good", "check"],
    rejected: ["bad", "cross"],
    rollback_pending: ["warn", "back"],
  },
  stage: {
    queued: ["", "clock"],
    layer1: ["busy", "run"],
    layer2: ["busy", "run"],
    completed: ["good", "check"],
    failed: ["bad", "cross"],
    inconclusive: ["warn", "alert"],
  },
  verdict: {
    passed: ["good", "check"],
    failed: ["bad", "cross"],
    inconclusive: ["warn", "alert"],
  },
  severity: { error: ["bad", "cross"], warning: ["warn", "alert"], note: ["", "note"] },
  full_test: { running: ["busy", "run"], completed: ["good", "check"], cancelled: ["", "dash"] },
};

/** A value of a fixed set, in colour, with a sign and in words. */
export function badge(set, value) {
  const [tone, sign] = LOOKS[set][value] ?? ["", "dash"];
  return h("span", { class: `badge ${tone}` }, icon(sign), named(set, value));
}

export function yesNo(value, yes, no) {
  if (value === null || value === undefined) {
    return h("span", { class: "badge" }, icon("dash"), t("answer.none"));
  }
  const [tone, sign, words] = value ? ["good", "check", yes] : ["bad", "cross", no];
  return h("span", { class: `badge ${tone}` }, icon(sign), words);
}

/** Words of the API, which speaks English. */
export function said(text, tag = "span", props = {}) {
  return h(tag, { lang: "en", ...props }, text);
}

export function problem(error, retry) {
  const body = h("div", null, h("strong", null, named("problem", error.code ?? "UNEXPECTED")));
  add(body, said(error.message, "p", { class: "wrap" }));
  const advice = named("advice", error.code ?? "UNEXPECTED");
  if (advice !== String(error.code).replaceAll("_", " ")) add(body, h("p", null, advice));
  for (const field of error.details?.fields ?? []) add(body, said(field, "p", { class: "small" }));
  if (retry) {
    add(body, h("div", { class: "actions" }, h("button", { on: { click: retry } }, t("do.retry"))));
  }
  return h("div", { class: "problem", role: "alert" }, icon("alert"), body);
}

export function empty(title, text, ...actions) {
  return h(
    "div",
    { class: "state" },
    h("h2", null, title),
    h("p", null, text),
    actions.length > 0 && h("div", { class: "actions" }, actions),
  );
}

export function loading() {
  return h("div", { class: "state loading" }, icon("run"), " ", t("state.loading"));
}

export function notice(text) {
  return h("p", { class: "notice" }, icon("alert"), h("span", null, text));
}

export function card(title, ...body) {
  return h("section", { class: "card" }, cardHead(title), h("div", { class: "card-body" }, body));
}

export function cardHead(title, aside = null) {
  return h("div", { class: "card-head" }, h("h2", null, title), aside);
}

/** A card whose body is a table. `columns`: words, or `[words, "number"]`; rows: lists of nodes. */
export function table(caption, columns, rows, ...after) {
  const cells = columns.map((each) => (Array.isArray(each) ? each : [each, null]));
  const head = cells.map(([words, kind]) => h("th", { scope: "col", class: kind }, words));
  const body = rows.map((row) =>
    h("tr", null, row.map((content, at) => cell(content, cells[at][1], at))),
  );
  const inner = h(
    "table",
    null,
    h("caption", { class: "unseen" }, caption),
    h("thead", null, h("tr", null, head)),
    h("tbody", null, body),
  );
  return h("div", { class: "card" }, scrolled(inner, caption), after);
}

function cell(content, kind, at) {
  if (at === 0) return h("th", { scope: "row", class: kind }, content);
  return h("td", { class: kind }, content);
}

/** Wide things scroll in their own place, by keyboard too. */
export function scrolled(inner, name) {
  return h("div", { class: "table-wrap", tabindex: "0", role: "region", "aria-label": name }, inner);
}

/** Text of a program or a skill, as it is. */
export function code(text, name) {
  return h("pre", { class: "code", tabindex: "0", role: "region", "aria-label": name }, text);
}

export function facts(pairs) {
  const shown = pairs.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return h(
    "dl",
    { class: "facts" },
    shown.map(([name, value]) => [h("dt", null, name), h("dd", null, value)]),
  );
}

export function names(list) {
  return h("ul", { class: "names" }, list.map((each) => h("li", null, each)));
}

export function pager({ page, size, total }, turn) {
  if (total <= size) return null;
  const last = Math.ceil(total / size);
  const button = (words, to, possible) =>
    h("button", { disabled: !possible, on: { click: () => turn(to) } }, words);
  const values = { page: number(page), last: number(last), total: number(total) };
  return h(
    "nav",
    { class: "pager", "aria-label": t("pager.name") },
    button(t("pager.previous"), page - 1, page > 1),
    h("span", { class: "muted number" }, t("pager.where", values)),
    button(t("pager.next"), page + 1, page < last),
  );
}

/** Say it to those who cannot see it. */
export function announce(text) {
  document.getElementById("live").textContent = text;
}

export function toast(text) {
  const shown = h("div", { class: "toast" }, icon("check"), h("span", { class: "wrap" }, text));
  document.getElementById("toasts").append(shown);
  setTimeout(() => shown.remove(), 7000);
  announce(text);
}

/**
 * A region that shows pages: `load(page)` fetches one, `shown(found, turn)` gives its content.
 * A page that cannot be had is told in the place of the one before; the first one is thrown.
 */
export async function paged(region, load, shown, signal) {
  async function turn(page) {
    try {
      await open(page);
    } catch (error) {
      if (signal.aborted || error.status === 401) return;
      keepingFocus(region, () => replace(region, problem(error, () => turn(page))));
    }
  }
  async function open(page) {
    const found = await load(page);
    keepingFocus(region, () => replace(region, shown(found, turn)));
  }
  await open(1);
  return region;
}

/** Change what is inside `region`, and leave the focus on what takes the place of its holder. */
export function keepingFocus(region, change) {
  const held = region.contains(document.activeElement) ? document.activeElement : null;
  change();
  if (!held || region.contains(held)) return;
  const known = (each) => each.id || each.getAttribute("href") || each.textContent;
  const like = [...region.querySelectorAll("h1, a, button, input, [tabindex]")].find(
    (each) => known(each) === known(held) && !each.disabled,
  );
  (like ?? region.querySelector("button:not(:disabled), a"))?.focus();
}
