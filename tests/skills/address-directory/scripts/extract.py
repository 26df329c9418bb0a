"""Print the e-mail addresses in a text as a JSON list."""

import json
import re
import sys
from pathlib import Path

found = re.findall(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+", Path(sys.argv[1]).read_text())
print(json.dumps(sorted(set(found))))
