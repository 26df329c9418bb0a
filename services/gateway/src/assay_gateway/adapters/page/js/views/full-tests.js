// Full tests of all approved skills: those that were, and a new one.

import { get, post } from "../api.js";
import { h, icon, replace } from "../dom.js";
import { moment, number, t } from "../i18n.js";
import { ask } from "../dialog.js";
import { go } from "../router.js";
import { badge, empty, paged, pager, problem, table } from "../ui.js";

const SIZE = 20;

export async function fullTestsView({ signal }) {
  const load = (page) => get("full-tests", { query: { page, size: SIZE }, signal });
  const refused = h("div");
  const begun = () => begin(signal, refused);
  return [
    h(
      "div",
      { class: "title-row" },
      h("div", null, h("h1", null, t("full-tests.title")), h("p", { class: "muted" }, t("full-tests.text"))),
      h("button", { class: "primary", on: { click: begun } }, icon("run"), t("full-tests.start")),
    ),
    refused,
    await paged(h("div"), load, shown, signal),
  ];
}

async function begin(signal, refused) {
  replace(refused);
  let total;
  try {
    ({ total } = await get("skills", { query: { status: "approved", size: 1 }, signal }));
  } catch (error) {
    if (!signal.aborted) replace(refused, problem(error));
    return;
  }
  const started = await ask({
    title: t("full-tests.start-title"),
    body: h("p", null, t("full-tests.start-text", { n: number(total) })),
    confirm: t("full-tests.start"),
    act: startOrJoin,
  });
  if (started) go(`#/full-tests/${started.full_test_id}`);
}

/** One at a time: when one is under way already, that is the one to watch. */
async function startOrJoin() {
  try {
    return await post("skills/full-test");
  } catch (error) {
    if (error.code === "VALIDATION_IN_PROGRESS" && error.details.full_test_id) return error.details;
    throw error;
  }
}

function shown(found, turn) {
  if (found.total === 0) return h("div", { class: "card" }, empty(t("full-tests.none"), t("full-tests.none-text")));
  const rows = found.full_tests.map((each) => [
    h("a", { href: `#/full-tests/${each.full_test_id}` }, moment(each.started_at)),
    badge("full_test", each.status),
    h("code", null, each.runtime_version),
    `${number(each.counts.done)} / ${number(each.counts.total)}`,
    number(each.counts.passed),
    number(each.counts.failed),
    number(each.counts.inconclusive),
    number(each.counts.worse),
    each.started_by,
  ]);
  const columns = [
    t("full-tests.started"),
    t("skills.status"),
    t("facts.runtime"),
    [t("full-tests.done"), "number"],
    [t("verdict.passed"), "number"],
    [t("verdict.failed"), "number"],
    [t("verdict.inconclusive"), "number"],
    [t("full-tests.worse"), "number"],
    t("full-tests.by"),
  ];
  return table(t("full-tests.title"), columns, rows, pager(found, turn));
}
