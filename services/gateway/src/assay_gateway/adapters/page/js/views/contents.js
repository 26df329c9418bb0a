// What is in the bundle.

import { h } from "../dom.js";
import { bytes, number, t, tn } from "../i18n.js";
import { card, code, facts, table } from "../ui.js";
import { findings } from "./upload.js";

export async function contents({ skill }) {
  const { manifest } = skill;
  const rows = manifest.files.map((file) => [h("code", { class: "wrap" }, file.path), bytes(file.size)]);
  const more = Object.entries({ ...manifest.metadata, ...manifest.other_fields });
  return [
    card(
      t("contents.manifest"),
      facts([
        [t("contents.name"), h("code", null, manifest.name)],
        [t("contents.description"), h("span", { class: "quote" }, manifest.description)],
        [t("contents.license"), manifest.license],
        [t("contents.compatibility"), manifest.compatibility],
        [t("contents.allowed-tools"), manifest.allowed_tools],
        [t("facts.revision"), number(skill.revision)],
        [t("contents.size"), bytes(manifest.size)],
        [t("contents.lines"), number(manifest.body_lines)],
        [t("contents.sha"), h("code", null, skill.bundle_sha256)],
        ...more.map(([name, value]) => [h("code", null, name), value]),
      ]),
    ),
    manifest.commands.length > 0 && card(t("contents.commands"), code(manifest.commands.join("\n"), t("contents.commands"))),
    h("h2", { class: "section-title" }, tn("contents.files", manifest.files.length)),
    table(t("contents.file"), [t("contents.file"), [t("contents.size"), "number"]], rows),
    skill.findings.length > 0 && card(t("report.findings"), findings(skill.findings)),
  ];
}
