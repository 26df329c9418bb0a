"""Remove trailing blanks and tabs from every line of a text, in place."""

import sys
from pathlib import Path

draft = Path(sys.argv[1])
lines = draft.read_text().split("\n")
draft.write_text("\n".join(line.rstrip(" \t") for line in lines))
