"""Programs that run inside sandboxes.

The standard library alone, and plain: a sandbox's Python may be older than the runner's. They are
copied with `__pycache__` beside them, so that they start without being compiled.
"""
