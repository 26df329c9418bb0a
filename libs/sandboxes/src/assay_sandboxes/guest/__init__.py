"""What runs inside a sandbox, and all of it.

The standard library alone, for Python 3.9 and newer: at a remote service the sandbox's own Python
runs it, and is started for every request, so modules that are slow to import (`pathlib`,
`subprocess`, `typing`, `ctypes`) are left out or imported where they are used. Process 1 of a
bubblewrap sandbox (`bubblewrap/process_one`) uses the same modules.
"""
