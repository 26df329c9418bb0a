"""Sandboxes on one machine, by bubblewrap."""
