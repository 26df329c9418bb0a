"""List the ingredients of a recipe as JSON."""

import json
import sys
from pathlib import Path

lines = [line.strip() for line in Path(sys.argv[1]).read_text().splitlines() if line.strip()]
Path(sys.argv[3]).write_text(json.dumps(lines) + "\n")
