import argparse
import pathlib
import textwrap

parser = argparse.ArgumentParser(description="Small text tools.")
tools = parser.add_subparsers(dest="tool", required=True)
for name in ("wrap", "number", "sort", "longest"):
    tool = tools.add_parser(name)
    tool.add_argument("file", type=pathlib.Path)
    if name == "wrap":
        tool.add_argument("--width", type=int, default=72)
    if name == "longest":
        tool.add_argument("--top", type=int, default=5)
    if name == "sort":
        tool.add_argument("--out", type=pathlib.Path)
args = parser.parse_args()

text = args.file.read_text(encoding="utf-8")
paragraphs = [part.strip() for part in text.split("\n\n") if part.strip()]
if args.tool == "wrap":
    print("\n\n".join(textwrap.fill(part, args.width) for part in paragraphs))
elif args.tool == "number":
    for number, line in enumerate(text.splitlines(), 1):
        print(f"{number:4} {line}")
elif args.tool == "sort":
    ordered = "\n\n".join(sorted(paragraphs, key=str.casefold)) + "\n"
    if args.out:
        args.out.write_text(ordered, encoding="utf-8")
        print(f"{len(paragraphs)} paragraphs in {args.out}")
    else:
        print(ordered, end="")
else:
    for line in sorted(text.splitlines(), key=len, reverse=True)[: args.top]:
        print(f"{len(line):4} {line}")
