const args = process.argv.slice(2);
const clean = args.includes("--clean");
const url = new URL(args.filter((arg) => arg !== "--clean")[0]);
const tracking = (name) => /^(utm_|fbclid|gclid)/.test(name);

const parameters = url.searchParams.toArray();
if (clean) {
  for (const [name] of parameters) if (tracking(name)) url.searchParams.delete(name);
  console.log(url.href);
} else {
  for (const [name, value] of parameters) console.log(`${name}\t${value}${tracking(name) ? "\ttracking" : ""}`);
}
