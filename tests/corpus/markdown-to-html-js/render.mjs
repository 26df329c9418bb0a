import { readFileSync } from "node:fs";
import { marked } from "marked";

process.stdout.write(marked.parse(readFileSync(process.argv[2], "utf8")));
