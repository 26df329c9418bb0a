"""Measurements: each prints what it saw and fails when a bar is missed."""
