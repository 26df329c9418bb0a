// What the page has to know of the services' rules; a test holds it to theirs.

/** Percent of the overall score. */
export const WEIGHTS = { completion: 50, trigger: 35, offline: 15 };

/** From here on it passes; the share of tasks that use the skill has no mark of its own. */
export const MARKS = { completion: 50, trigger: null, offline: 70, overall: 70 };

export const STEPS = [
  "queued",
  "planning",
  "online_run",
  "online_grading",
  "offline_run",
  "offline_grading",
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
