#!/usr/bin/env node
// Print (or insert) a table of contents of a Markdown file.
const fs = require("node:fs");

const args = process.argv.slice(2);
const file = args.find((arg, i) => !arg.startsWith("--") && args[i - 1] !== "--depth");
const depth = args.includes("--depth") ? Number(args[args.indexOf("--depth") + 1]) : 6;
if (!file || Number.isNaN(depth)) {
  console.error("usage: toc.js FILE [--depth N] [--write]");
  process.exit(2);
}

const text = fs.readFileSync(file, "utf8");
const seen = new Map();
const lines = [];
let fenced = false;
for (const line of text.split("\n")) {
  if (/^(```|~~~)/.test(line)) fenced = !fenced;
  const heading = !fenced && /^(#{1,6})\s+(.+?)\s*#*$/.exec(line);
  if (!heading || heading[1].length > depth) continue;
  const anchor = heading[2].toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, "").replace(/\s/g, "-");
  const times = seen.get(anchor) ?? 0;
  seen.set(anchor, times + 1);
  const target = times ? `${anchor}-${times}` : anchor;
  lines.push(`${"  ".repeat(heading[1].length - 1)}- [${heading[2]}](#${target})`);
}
if (lines.length === 0) {
  console.error(`${file} has no headings`);
  process.exit(1);
}
const toc = lines.join("\n");
if (args.includes("--write")) {
  const marked = /<!-- toc -->[\s\S]*<!-- \/toc -->/;
  const block = `<!-- toc -->\n${toc}\n<!-- /toc -->`;
  fs.writeFileSync(file, marked.test(text) ? text.replace(marked, () => block) : `${block}\n\n${text}`);
  console.log(`wrote ${lines.length} entries into ${file}`);
} else {
  console.log(toc);
}
