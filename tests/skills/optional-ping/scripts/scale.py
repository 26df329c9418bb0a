"""Double the amounts in a recipe."""

import re
import sys
from pathlib import Path

text = Path(sys.argv[1]).read_text()
Path(sys.argv[3]).write_text(re.sub(r"\d+", lambda number: str(int(number[0]) * 2), text))
