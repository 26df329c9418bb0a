"""Planner, grader and report writer for when no language model is configured."""
