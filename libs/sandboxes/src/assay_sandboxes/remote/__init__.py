"""Sandboxes that somebody else runs: whatever is the same whoever that is.

A provider of such sandboxes says how its service makes, finds and deletes machines and how it moves
files and runs commands there (`service.py`). Everything else is here: having machines without ever
leaving one behind, asking again, and speaking with our programs inside (`guest/`).
"""
