"""The planner's role: tasks from what a SKILL.md documents, within the rules the judge hands in."""
