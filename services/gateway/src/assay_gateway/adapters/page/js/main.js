// Puts the page together: who is signed in, what is around every view, and which view it is.

import { signedOut, token } from "./api.js";
import { h, icon, replace } from "./dom.js";
import { chooseLanguage, currentLanguage, loadWords, t } from "./i18n.js";
import { go, leave, show, start } from "./router.js";
import { announce } from "./ui.js";
import { auditView } from "./views/audit.js";
import { fullTestView } from "./views/full-test.js";
import { fullTestsView } from "./views/full-tests.js";
import { lostView } from "./views/lost.js";
import { runtimeView } from "./views/runtime.js";
import { signInView } from "./views/sign-in.js";
import { skillView } from "./views/skill.js";
import { skillsView } from "./views/skills.js";
import { receive, uploadView } from "./views/upload.js";
import { validationView } from "./views/validation.js";

const PLACES = ["skills", "upload", "full-tests", "runtime", "audit"];
const ROUTES = [
  [/^\/skills$/, skillsView],
  [/^\/skills\/([0-9a-f-]{36})(?:\/([a-z]+))?$/, skillView],
  [/^\/skills\/([0-9a-f-]{36})\/validations\/([0-9a-f-]{36})(?:\/([a-z]+))?$/, validationView],
  [/^\/upload$/, uploadView],
  [/^\/full-tests$/, fullTestsView],
  [/^\/full-tests\/([0-9a-f-]{36})$/, fullTestView],
  [/^\/runtime$/, runtimeView],
  [/^\/audit$/, auditView],
  [/.*/, lostView],
];

const top = document.getElementById("top");
const main = document.getElementById("main");
const skip = document.getElementById("skip");

function frame(path = "") {
  const here = path.split("/")[1];
  skip.textContent = t("page.skip");
  const links = PLACES.map((place) =>
    h("a", { href: `#/${place}`, "aria-current": place === here && "page" }, t(`nav.${place}`)),
  );
  replace(
    top,
    h(
      "div",
      { class: "top-inner" },
      h("a", { class: "brand", href: "#/skills" }, h("img", { src: "page/mark.svg", alt: "" }), "Assay"),
      token.get() && h("nav", { class: "nav", "aria-label": t("nav.name") }, links),
      h("div", { class: "switches" }, languageSwitch(), themeSwitch(), token.get() && leaveButton()),
    ),
  );
}

function languageSwitch() {
  const other = currentLanguage() === "zh" ? ["en", "English"] : ["zh", "中文"];
  const change = () => {
    chooseLanguage(other[0]);
    again();
    top.querySelector(".language").focus();
  };
  const lang = other[0] === "zh" ? "zh-Hans" : "en";
  return h("button", { class: "quiet language", lang, on: { click: change } }, other[1]);
}

function themeSwitch() {
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  const next = (root.dataset.theme ?? system) === "dark" ? "light" : "dark";
  const change = () => {
    root.dataset.theme = next;
    localStorage.setItem("assay.theme", next);
    button.replaceWith(themeSwitch());
    top.querySelector(".theme").focus();
  };
  const words = t(`theme.${next}`);
  const button = h(
    "button",
    { class: "quiet theme", "aria-label": words, title: words, on: { click: change } },
    icon(next === "dark" ? "moon" : "sun"),
  );
  return button;
}

function leaveButton() {
  return h("button", { class: "quiet", on: { click: () => signOut(null) } }, t("do.sign-out"));
}

function signOut(message) {
  token.clear();
  leave();
  askForToken(message);
}

function askForToken(message) {
  frame();
  document.title = `${t("sign-in.title")} · Assay`;
  replace(main, signInView(message, () => show({ moved: true })));
  main.removeAttribute("aria-busy");
  main.querySelector("input").focus();
  if (message) announce(message);
}

function again() {
  if (token.get()) show();
  else askForToken(null);
}

// A file dropped anywhere is an upload; the browser would otherwise leave the page for it.
addEventListener("dragover", (event) => event.preventDefault());
addEventListener("drop", (event) => {
  event.preventDefault();
  if (!token.get() || event.dataTransfer.files.length === 0) return;
  receive(event.dataTransfer.files);
  go("#/upload");
});
skip.addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
signedOut.addEventListener("signed-out", () => token.get() && signOut(t("sign-in.refused")));

await loadWords();
start(main, ROUTES, frame);
again();
