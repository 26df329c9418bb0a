// English and Chinese. Every word of the page is in words.json, in both.

const LANGUAGES = ["en", "zh"];
const KEY = "assay.language";
const CLOCK = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" };

let words = {};
let language = "en";

export async function loadWords() {
  const response = await fetch("page/words.json");
  words = await response.json();
  const chosen = localStorage.getItem(KEY);
  speak(LANGUAGES.includes(chosen) ? chosen : preferred());
}

function preferred() {
  return navigator.languages.some((each) => each.toLowerCase().startsWith("zh")) ? "zh" : "en";
}

function speak(next) {
  language = next;
  document.documentElement.lang = next === "zh" ? "zh-Hans" : "en";
}

export function chooseLanguage(next) {
  localStorage.setItem(KEY, next);
  speak(next);
}

export const currentLanguage = () => language;

/** The words for `key`, with `{name}` replaced from `values`. */
export function t(key, values = {}) {
  const found = words[key];
  if (!found) throw new Error(`no words for ${key}`);
  return found[language].replace(/\{(\w+)\}/g, (_, name) => String(values[name] ?? ""));
}

/** As `t`, from `<key>.one` or `<key>.other`, with `{n}`. */
export function tn(key, n) {
  const form = new Intl.PluralRules(language).select(n) === "one" ? "one" : "other";
  return t(`${key}.${form}`, { n: number(n) });
}

/** Words for a value of a fixed set; one that is newer than this page is shown as it is. */
export function named(set, value) {
  return words[`${set}.${value}`] ? t(`${set}.${value}`) : String(value).replaceAll("_", " ");
}

export function number(value, digits = 0) {
  return new Intl.NumberFormat(language, { maximumFractionDigits: digits }).format(value);
}

/** A score: one decimal, always. */
export function score(value) {
  if (value === null || value === undefined) return "–";
  const digits = { minimumFractionDigits: 1, maximumFractionDigits: 1 };
  return new Intl.NumberFormat(language, digits).format(value);
}

export function moment(iso) {
  if (!iso) return "–";
  const form = { year: "numeric", month: "short", day: "numeric", ...CLOCK };
  return new Intl.DateTimeFormat(language, form).format(new Date(iso));
}

export function clock(iso) {
  return new Intl.DateTimeFormat(language, { ...CLOCK, second: "2-digit" }).format(new Date(iso));
}

export function seconds(value) {
  if (value === null || value === undefined) return "–";
  const whole = Math.round(value);
  if (whole < 60) return t("unit.seconds", { n: number(value, value < 10 ? 2 : 0) });
  return t("unit.minutes", { m: number(Math.floor(whole / 60)), s: number(whole % 60) });
}

export function between(from, to) {
  return from && to ? seconds((new Date(to) - new Date(from)) / 1000) : "–";
}

export function bytes(value) {
  if (value < 1024) return t("unit.bytes", { n: number(value) });
  if (value < 1024 * 1024) return t("unit.kilobytes", { n: number(value / 1024, 1) });
  return t("unit.megabytes", { n: number(value / 1024 / 1024, 1) });
}
