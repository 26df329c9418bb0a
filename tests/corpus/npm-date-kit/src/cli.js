const { apart, isoWeek, quarter } = require("./dates");

const [one, two] = process.argv.slice(2);
try {
  if (two) console.log(`${apart(one, two)} days apart`);
  else if (one) console.log(`${one}: week ${isoWeek(one)}, quarter ${quarter(one)}`);
  else throw new RangeError("give one or two dates such as 2024-02-29");
} catch (problem) {
  console.error(problem.message);
  process.exitCode = 1;
}
