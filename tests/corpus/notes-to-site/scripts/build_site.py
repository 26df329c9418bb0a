import argparse
import html
import re
import sys
from pathlib import Path

PAGE = "<!doctype html>\n<meta charset=utf-8>\n<title>{title}</title>\n{body}\n"


def inline(text):
    text = html.escape(text)
    text = re.sub(r"`([^`]+)`", r"<code>\1</code>", text)
    text = re.sub(r"\*\*([^*]+)\*\*", r"<b>\1</b>", text)
    return re.sub(r"\[([^\]]+)\]\(([^)\s]+)\)", r'<a href="\2">\1</a>', text)


def rendered(markdown):
    parts = []
    for block in re.split(r"\n\s*\n", markdown.strip()):
        heading = re.match(r"(#{1,6}) +(.+)", block)
        if heading:
            level = len(heading[1])
            parts.append(f"<h{level}>{inline(heading[2])}</h{level}>")
            block = block[heading.end() :].strip()
        if re.match(r"[-*] ", block):
            items = re.split(r"(?m)^[-*] ", block)[1:]
            parts.append("<ul>" + "".join(f"<li>{inline(item.strip())}</li>" for item in items) + "</ul>")
        elif block:
            parts.append(f"<p>{inline(block)}</p>")
    return "\n".join(parts)


parser = argparse.ArgumentParser(description="Build a website from Markdown notes.")
parser.add_argument("notes", type=Path)
parser.add_argument("--out-dir", type=Path, default=Path("site"))
parser.add_argument("--title", default="Notes")
args = parser.parse_args()

sources = sorted(args.notes.glob("*.md"))
if not sources:
    sys.exit(f"there are no Markdown files in {args.notes}")
args.out_dir.mkdir(parents=True, exist_ok=True)
links = []
for source in sources:
    text = source.read_text(encoding="utf-8")
    first = re.search(r"(?m)^# +(.+)$", text)
    title = first[1] if first else source.stem
    links.append(f'<li><a href="{source.stem}.html">{html.escape(title)}</a></li>')
    page = PAGE.format(title=html.escape(title), body=rendered(text))
    target = args.out_dir / f"{source.stem}.html"
    if not target.exists() or target.read_text(encoding="utf-8") != page:
        target.write_text(page, encoding="utf-8")
body = f"<h1>{html.escape(args.title)}</h1>\n<ul>{''.join(links)}</ul>"
(args.out_dir / "index.html").write_text(PAGE.format(title=html.escape(args.title), body=body), encoding="utf-8")
print(f"{len(sources)} pages in {args.out_dir}")
