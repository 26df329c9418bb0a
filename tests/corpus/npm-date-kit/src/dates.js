const DAY = 24 * 60 * 60 * 1000;

function parse(text) {
  const date = new Date(`${text}T00:00:00Z`);
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text) || Number.isNaN(date.getTime())) {
    throw new RangeError(`not a date: ${text}`);
  }
  return date;
}

function isoWeek(text) {
  const date = parse(text);
  const thursday = new Date(date.getTime() + (3 - ((date.getUTCDay() + 6) % 7)) * DAY);
  const first = Date.UTC(thursday.getUTCFullYear(), 0, 1);
  return Math.floor((thursday - first) / DAY / 7) + 1;
}

const quarter = (text) => Math.floor(parse(text).getUTCMonth() / 3) + 1;
const apart = (one, two) => Math.abs(parse(two) - parse(one)) / DAY;

module.exports = { apart, isoWeek, quarter };
