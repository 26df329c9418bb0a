"""What a skill is: read, check, generate and show a SKILL.md and its folder."""
