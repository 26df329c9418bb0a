"""Programs that run inside sandboxes, or make them.

The standard library alone. Those that a sandbox's own Python runs are plain: it may be older than
the runner's.
"""
