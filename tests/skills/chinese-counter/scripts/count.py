"""统计文章的字数和行数。"""

import sys
from pathlib import Path

text = Path(sys.argv[1]).read_text()
print("字数:", sum(not sign.isspace() for sign in text))
print("行数:", len(text.splitlines()))
