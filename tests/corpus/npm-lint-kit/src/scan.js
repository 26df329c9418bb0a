const fs = require("node:fs");
const path = require("node:path");

const folder = process.argv[2] ?? ".";
let found = 0;
for (const name of fs.readdirSync(folder).filter((one) => one.endsWith(".js"))) {
  const file = path.join(folder, name);
  fs.readFileSync(file, "utf8").split("\n").forEach((line, i) => {
    if (/^\s*(console\.log\(|debugger\b)/.test(line)) {
      found += 1;
      console.error(`${file}:${i + 1}: ${line.trim()}`);
    }
  });
}
process.exitCode = found ? 1 : 0;
