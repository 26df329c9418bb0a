const assert = require("node:assert");
const { apart, isoWeek, quarter } = require("./dates");

assert.strictEqual(isoWeek("2021-01-03"), 53);
assert.strictEqual(isoWeek("2024-12-30"), 1);
assert.strictEqual(quarter("2024-02-29"), 1);
assert.strictEqual(apart("2024-02-29", "2024-12-31"), 306);
console.log("4 checks passed");
