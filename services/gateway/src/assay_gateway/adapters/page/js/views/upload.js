// Upload by drag and drop or by a button; what was found stands beside each file.

import { post } from "../api.js";
import { add, h, icon, replace } from "../dom.js";
import { bytes, named, t, tn } from "../i18n.js";
import { MAX_UPLOAD_BYTES } from "../rules.js";
import { announce, badge, empty, problem, said } from "../ui.js";

/** Newest first; they outlive a look at another view. */
const uploads = [];
let shown = null;

/** Upload files one after another, wherever they come from. */
export async function receive(files) {
  const fresh = [...files].map((file) => ({ file, state: "waiting" }));
  uploads.unshift(...fresh);
  draw();
  for (const upload of fresh) {
    upload.state = "sending";
    draw();
    await submit(upload);
    draw();
    announce(`${upload.file.name}: ${t(`upload.${upload.state}`)}`);
  }
}

async function submit(upload) {
  if (upload.file.size > MAX_UPLOAD_BYTES) {
    upload.state = "refused";
    upload.error = { code: "FILE_TOO_LARGE", message: t("upload.too-large") };
    return;
  }
  const body = new FormData();
  body.append("file", upload.file, upload.file.name);
  try {
    upload.answer = await post("skills/upload", { body });
    upload.state = "accepted";
  } catch (error) {
    upload.error = error;
    upload.state = "refused";
  }
}

export async function uploadView() {
  const input = h("input", {
    id: "files",
    class: "unseen",
    type: "file",
    accept: ".zip,application/zip",
    multiple: true,
    tabindex: "-1",
    "aria-label": t("upload.choose"),
    on: {
      change: () => {
        receive(input.files);
        input.value = "";
      },
    },
  });
  const zone = h(
    "div",
    { class: "drop" },
    icon("up"),
    h("p", null, h("strong", null, t("upload.drop"))),
    h("p", { class: "muted" }, t("upload.limits")),
    h("button", { class: "primary", on: { click: () => input.click() } }, t("upload.choose")),
    input,
  );
  let depth = 0;
  const over = (change) => {
    depth += change;
    zone.classList.toggle("over", depth > 0);
  };
  zone.addEventListener("dragenter", () => over(1));
  zone.addEventListener("dragleave", () => over(-1));
  zone.addEventListener("drop", () => over(-depth));
  shown = h("div", { class: "stack uploads" });
  draw();
  return [
    h(
      "div",
      { class: "title-row" },
      h("div", null, h("h1", null, t("upload.title")), h("p", { class: "muted" }, t("upload.text"))),
    ),
    zone,
    h("h2", { class: "section-title" }, t("upload.files")),
    shown,
  ];
}

function draw() {
  if (!shown) return;
  if (uploads.length === 0) {
    replace(shown, h("div", { class: "card" }, empty(t("upload.none"), t("upload.none-text"))));
    return;
  }
  replace(shown, uploads.map(result));
}

function result(upload) {
  const { file, state, answer } = upload;
  return h(
    "article",
    { class: "card upload-result" },
    h(
      "div",
      { class: "upload-file" },
      h("h3", { class: "wrap mono" }, file.name),
      h("p", { class: "muted small" }, bytes(file.size)),
      stateBadge(state),
      answer &&
        h("a", { class: "button", href: `#/skills/${answer.skill_id}` }, t("upload.watch")),
    ),
    h("div", { class: "upload-findings" }, outcome(upload)),
  );
}

function stateBadge(state) {
  const looks = {
    waiting: ["", "clock"],
    sending: ["busy", "run"],
    accepted: ["good", "check"],
    refused: ["bad", "cross"],
  };
  const [tone, sign] = looks[state];
  return h("span", { class: `badge ${tone}` }, icon(sign), t(`upload.${state}`));
}

function outcome({ state, answer, error }) {
  if (state === "refused") {
    const found = error.details?.findings ?? [];
    return [problem(error), existing(error), findings(found)];
  }
  if (state !== "accepted") return h("p", { class: "muted" }, t("upload.checking"));
  const clean = answer.findings.length === 0;
  return [
    said(answer.message, "p"),
    clean ? h("p", { class: "muted" }, t("upload.clean")) : findings(answer.findings),
  ];
}

function existing(error) {
  const id = error.details?.skill_id;
  return id && h("p", null, h("a", { href: `#/skills/${id}` }, t("upload.existing")));
}

/** What the format check says, errors first. */
export function findings(list) {
  if (list.length === 0) return null;
  const order = ["error", "warning", "note"];
  const sorted = [...list].sort((a, b) => order.indexOf(a.severity) - order.indexOf(b.severity));
  const items = sorted.map((each) =>
    add(
      h("li", { class: "finding" }, badge("severity", each.severity)),
      h(
        "div",
        null,
        h("p", null, h("strong", null, named("finding", each.code))),
        said(each.message, "p", { class: "wrap" }),
        each.fix && said(each.fix, "p", { class: "muted wrap" }),
        h(
          "p",
          { class: "small muted" },
          each.path && h("code", { class: "wrap" }, each.line ? `${each.path}:${each.line}` : each.path),
          each.path && " · ",
          h("code", null, each.code),
        ),
      ),
    ),
  );
  return h("ul", { class: "findings", "aria-label": tn("upload.findings", list.length) }, items);
}
