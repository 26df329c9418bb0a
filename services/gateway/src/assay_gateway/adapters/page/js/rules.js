// What the page has to know of the services' rules. Those of scores come from the gateway, which has
// them from the contracts; a test holds the others to the services'.

const scoring = await (await fetch("page/scoring.json")).json();

/** The parts of a score: `{name, weight, pass_mark}`, the weight in percent, the mark perhaps null. */
export const DIMENSIONS = scoring.dimensions;

/** From this overall score on, a validation passes. */
export const PASS_MARK = scoring.pass_mark;

/** From this grade on a task is done, from the other in part. */
export const DONE_GRADE = scoring.done_grade;
export const PARTLY_DONE_GRADE = scoring.partly_done_grade;

export const STEPS = [
  "queued",
  "planning",
  "online_run",
  "online_grading",
  "offline_run",
  "offline_grading",
  "repeating",
  "regression",
  "mending",
  "reporting",
  "done",
];

/** What may be done with a skill whose validation has ended, by its status. */
export const ALLOWED = {
  pending: ["approve", "reject", "revalidate"],
  validating: ["cancel"],
  approved: ["delete"],
  rejected: ["revalidate", "delete"],
  rollback_pending: ["revalidate", "delete"],
};

export const STATUSES = Object.keys(ALLOWED);
export const ENDED = ["completed", "failed", "inconclusive"];

export const isOpen = (skill) =>
  skill.status === "validating" ||
  (skill.validation_stage !== null && !ENDED.includes(skill.validation_stage));

export const allowedFor = (skill) => (isOpen(skill) ? ["cancel"] : ALLOWED[skill.status] ?? []);

export const MAX_UPLOAD_BYTES = 50 * 1024 * 1024;
export const MAX_REASON = 2000;
