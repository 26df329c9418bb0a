// Sentences, average sentence length and reading time of a text file.
const fs = require("fs");

const text = fs.readFileSync(process.argv[2], "utf8");
const words = text.split(/\s+/).filter(Boolean).length;
const sentences = text.split(/[.!?]+/).filter((part) => part.trim()).length;
console.log(
  JSON.stringify({
    sentences,
    average_words: Number((words / Math.max(1, sentences)).toFixed(1)),
    reading_seconds: Math.ceil(words / 4),
  }),
);
