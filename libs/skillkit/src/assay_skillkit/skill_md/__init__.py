"""SKILL.md: read, checked and written."""
