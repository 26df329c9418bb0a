// What tried to reach the network, on a timeline and as a list.

import { h, icon } from "../dom.js";
import { timelinePicture } from "../charts.js";
import { clock, named, t, tn } from "../i18n.js";
import { card, empty, facts, notice, said, table } from "../ui.js";

export async function network({ report }) {
  const calls = report.runs
    .flatMap((run) => run.network_calls.map((call) => ({ ...call, run: run.kind })))
    .map((call) => ({ ...call, lane: `${named("run", call.run)} ${call.task_id ?? ""}`.trim() }))
    .sort((a, b) => a.at.localeCompare(b.at));
  const omitted = report.runs.reduce((sum, run) => sum + run.network_calls_omitted, 0);
  return [
    calls.length === 0 ? h("div", { class: "card" }, nothing(report)) : shown(calls, report),
    omitted > 0 && notice(tn("network.omitted", omitted)),
    proofs(report.runs),
  ];
}

function nothing({ runs }) {
  const watched = runs.some((run) => run.sandbox?.network === "blocked");
  if (watched) return empty(t("network.none"), t("network.none-text"));
  return empty(t("network.unwatched"), t("network.unwatched-text"));
}

function shown(calls, report) {
  const lanes = [...new Set(calls.map((call) => call.lane))];
  const rows = calls.map((call) => [
    h("span", { class: "number" }, clock(call.at)),
    named("run", call.run),
    call.task_id ?? "–",
    h("div", { class: "destination" }, h("code", { class: "wrap" }, call.destination)),
    h("code", { class: "wrap" }, call.command),
  ]);
  const columns = [t("network.time"), t("network.run"), t("network.task"), t("network.destination"), t("network.command")];
  const from = report.started_at ?? calls[0].at;
  return [
    card(t("network.timeline"), timelinePicture(calls, lanes, from, report.completed_at)),
    table(t("network.calls"), columns, rows),
  ];
}

function proofs(runs) {
  const with_proof = runs.filter((run) => run.sandbox);
  return with_proof.map((run) =>
    card(
      t("network.sandbox", { run: named("run", run.kind) }),
      facts([
        [t("network.mode"), h("span", null, icon(run.sandbox.network === "blocked" ? "cross" : "check"), " ", named("mode", run.sandbox.network))],
        [t("network.kind"), run.sandbox.kind],
        [t("network.base"), h("code", { class: "wrap" }, run.sandbox.base)],
        [t("network.proof"), said(run.sandbox.proof)],
        [t("network.observation"), said(run.sandbox.observation)],
      ]),
    ),
  );
}
