// Pictures of numbers, each with its words for those who cannot see it.

import { h, svg } from "./dom.js";
import { clock, moment, score, t } from "./i18n.js";
import { DIMENSIONS, DONE_GRADE, PARTLY_DONE_GRADE, PASS_MARK } from "./rules.js";

const tone = (value, mark) => (mark === null ? "plain" : value >= mark ? "good" : "bad");

/** The overall score as a ring with its pass mark, and its dimensions as bars. */
export function scorePicture(scores) {
  return h(
    "figure",
    { class: "score-picture" },
    ring(scores.overall),
    h("div", { class: "dimensions" }, DIMENSIONS.map((each) => dimension(each, scores[each.name]))),
    h("figcaption", { class: "muted small" }, formula(scores)),
  );
}

function ring(value) {
  const radius = 54;
  const around = 2 * Math.PI * radius;
  const angle = (PASS_MARK / 100) * 2 * Math.PI - Math.PI / 2;
  const at = (distance) => [64 + distance * Math.cos(angle), 64 + distance * Math.sin(angle)];
  const [[x1, y1], [x2, y2]] = [at(radius - 9), at(radius + 9)];
  const circle = (name, length) =>
    svg("circle", {
      class: name,
      cx: 64,
      cy: 64,
      r: radius,
      "stroke-dasharray": `${(length / 100) * around} ${around}`,
      transform: "rotate(-90 64 64)",
    });
  const words = t("score.overall-of", { score: score(value), mark: PASS_MARK });
  return svg(
    "svg",
    { class: `ring ${tone(value, PASS_MARK)}`, viewBox: "0 0 128 128", role: "img", "aria-label": words },
    circle("track", 100),
    value > 0 && circle("value", value),
    svg("line", { class: "mark", x1, y1, x2, y2 }),
    svg("text", { class: "big", x: 64, y: 67 }, score(value)),
    svg("text", { class: "label", x: 64, y: 86 }, t("score.overall")),
  );
}

function dimension({ name, weight, pass_mark: mark }, value) {
  const missing = value === null || value === undefined;
  return h(
    "div",
    { class: `dimension ${missing ? "" : tone(value, mark)}` },
    h(
      "div",
      { class: "dimension-head" },
      h("span", null, t(`score.${name}`), " ", h("span", { class: "muted small" }, `${weight} %`)),
      h("strong", { class: "number" }, missing ? t("score.no-run") : score(value)),
    ),
    svg(
      "svg",
      { class: "dimension-bar", viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true" },
      svg("rect", { class: "track", width: 100, height: 8 }),
      !missing && svg("rect", { class: "value", width: value, height: 8 }),
      mark !== null && svg("rect", { class: "mark", x: mark - 0.25, width: 0.5, height: 8 }),
    ),
    h("p", { class: "muted small" }, t(`score.${name}-from`)),
  );
}

function formula(scores) {
  const parts = DIMENSIONS.map(({ name, weight }) => `${weight} % × ${score(scores[name] ?? 0)}`);
  return `${parts.join(" + ")} = ${score(scores.overall)}`;
}

/** Overall scores over time, oldest first; `validations` as the API lists them, newest first. */
export function historyPicture(validations) {
  const points = validations.filter((each) => each.scores !== null).reverse();
  if (points.length < 2) return null;
  const [width, height, left, top] = [1100, 200, 40, 12];
  const x = (index) => left + 10 + (index * (width - left - 30)) / (points.length - 1);
  const y = (value) => top + ((100 - value) * (height - top - 22)) / 100;
  const line = points.map((each, index) => `${x(index)},${y(each.scores.overall)}`).join(" ");
  const label = t("history.picture", { n: points.length });
  return svg(
    "svg",
    { class: "history-picture", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label },
    [0, 50, 100].map((value) => [
      svg("line", { class: "grid", x1: left, x2: width, y1: y(value), y2: y(value) }),
      svg("text", { class: "tick", x: left - 8, y: y(value) + 4, "text-anchor": "end" }, value),
    ]),
    svg("line", { class: "mark", x1: left, x2: width, y1: y(PASS_MARK), y2: y(PASS_MARK) }),
    svg("text", { class: "tick", x: left - 8, y: y(PASS_MARK) + 4, "text-anchor": "end" }, PASS_MARK),
    svg("polyline", { class: "line", points: line }),
    points.map((each, index) =>
      svg(
        "circle",
        { class: `dot ${tone(each.scores.overall, PASS_MARK)}`, cx: x(index), cy: y(each.scores.overall), r: 4.5 },
        svg("title", null, `${moment(each.completed_at)}: ${score(each.scores.overall)}`),
      ),
    ),
  );
}

/** Network calls on a line for each run and task. `calls`: `{at, lane, destination}`, by time. */
export function timelinePicture(calls, lanes, from, to) {
  const [left, right, rowHeight] = [130, 1090, 26];
  const height = lanes.length * rowHeight + 30;
  const [first, last] = [new Date(from).getTime(), new Date(to).getTime()];
  const x = (at) => left + ((new Date(at).getTime() - first) * (right - left)) / Math.max(1, last - first);
  const y = (lane) => 16 + lanes.indexOf(lane) * rowHeight;
  return svg(
    "svg",
    { class: "timeline", viewBox: `0 0 1100 ${height}`, role: "img", "aria-label": t("network.picture", { n: calls.length }) },
    lanes.map((lane) => [
      svg("line", { class: "grid", x1: left, x2: right, y1: y(lane), y2: y(lane) }),
      svg("text", { class: "lane", x: left - 12, y: y(lane) + 4, "text-anchor": "end" }, lane),
    ]),
    calls.map((call) =>
      svg(
        "circle",
        { class: "dot", cx: x(call.at), cy: y(call.lane), r: 5 },
        svg("title", null, `${clock(call.at)} ${call.destination}`),
      ),
    ),
    svg("text", { class: "tick", x: left, y: height - 4 }, clock(from)),
    svg("text", { class: "tick", x: right, y: height - 4, "text-anchor": "end" }, clock(to)),
  );
}

/** A grade from 1 to 5 as points and as a number. */
export function gradePoints(grade) {
  const kind = grade >= DONE_GRADE ? "good" : grade >= PARTLY_DONE_GRADE ? "warn" : "bad";
  return h(
    "span",
    { class: `grade ${kind}` },
    h("span", { class: "grade-points", "aria-hidden": "true" }, "●".repeat(grade), "○".repeat(5 - grade)),
    h("span", { class: "number" }, t("tasks.grade-of", { grade })),
  );
}
