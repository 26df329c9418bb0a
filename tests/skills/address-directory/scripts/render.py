"""Render a directory page from a JSON list of e-mail addresses."""

import html
import json
import sys
from pathlib import Path

addresses = json.loads(Path(sys.argv[1]).read_text())
items = "".join(f"<li>{html.escape(address)}</li>" for address in addresses)
Path(sys.argv[2]).write_text(f"<html><body><ul>{items}</ul></body></html>\n")
