"""A skill that takes its time, for tests that must see something under way."""

import io
import zipfile


def slow_skill(name: str, seconds: float) -> bytes:
    """A skill that counts lines, taking its time about it."""
    text = f"""---
name: {name}
description: Counts the lines and words of a plain text file and writes the counts as JSON.
---

# Counting

Count the lines and words of a text file:

```bash
python3 scripts/count.py notes.txt --output counts.json
```
"""
    script = f"""import json, pathlib, sys, time
time.sleep({seconds})
text = pathlib.Path(sys.argv[1]).read_text()
counts = {{"lines": len(text.splitlines()), "words": len(text.split())}}
pathlib.Path(sys.argv[3]).write_text(json.dumps(counts))
print(json.dumps(counts))
"""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(f"{name}/SKILL.md", text)
        archive.writestr(f"{name}/scripts/count.py", script)
    return buffer.getvalue()
