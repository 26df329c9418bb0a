const fs = require("node:fs");
const { parseEnv } = require("./lib/parse-env");

const [one, two] = process.argv.slice(2).map((file) => parseEnv(fs.readFileSync(file, "utf8")));
for (const name of Object.keys(one)) {
  if (!(name in two)) console.log(`only in the first: ${name}`);
}
for (const name of Object.keys(two)) {
  if (!(name in one)) console.log(`only in the second: ${name}`);
}
