import argparse
import json
import re
from collections import Counter

parser = argparse.ArgumentParser(description="统计中文文稿的字数、句数和平均句长")
parser.add_argument("file", help="UTF-8 编码的文本文件")
parser.add_argument("--output", help="把结果写入该文件")
args = parser.parse_args()

with open(args.file, encoding="utf-8") as handle:
    text = handle.read()
characters = re.findall(r"[\u4e00-\u9fff]", text)
sentences = [part for part in re.split(r"[。！？!?]", text) if re.search(r"[\u4e00-\u9fff]", part)]
result = {
    "字数": len(characters),
    "句数": len(sentences),
    "平均句长": round(len(characters) / len(sentences), 1) if sentences else 0,
    "常用字": [char for char, count in Counter(characters).most_common(5) if count > 1],
}
line = json.dumps(result, ensure_ascii=False)
print(line)
if args.output:
    with open(args.output, "w", encoding="utf-8") as handle:
        handle.write(line + "\n")
