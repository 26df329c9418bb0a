"""Writes blind tasks, grades runs, writes the words of reports."""
