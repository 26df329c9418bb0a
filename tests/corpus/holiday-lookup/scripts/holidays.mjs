import { readFileSync } from "node:fs";

const args = process.argv.slice(2);
const offline = args.includes("--offline");
const [country, year] = args.filter((arg) => !arg.startsWith("--"));
const fixed = JSON.parse(readFileSync(new URL("../assets/fixed.json", import.meta.url), "utf8"))[country];
if (!fixed || !/^\d{4}$/.test(year ?? "")) {
  console.error("usage: holidays.mjs DE|FR|IT YEAR [--offline]");
  process.exit(2);
}
let days;
try {
  if (offline) throw new Error("asked not to");
  const url = `https://date.nager.at/api/v3/PublicHolidays/${year}/${country}`;
  const answer = await fetch(url, { signal: AbortSignal.timeout(3000) });
  days = (await answer.json()).map((day) => `${day.date} ${day.localName}`);
} catch {
  days = Object.entries(fixed).map(([day, name]) => `${year}-${day} ${name}`);
  days.push("(fixed days only; the fuller list was not within reach)");
}
console.log(days.join("\n"));
