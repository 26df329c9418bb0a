"""Make a rota of shifts for a team from a list of names."""

import sys

print("reading names")

print("no rota can be made", file=sys.stderr)
sys.exit(4)
