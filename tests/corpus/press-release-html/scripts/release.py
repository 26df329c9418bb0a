import argparse
import html
from pathlib import Path

TEMPLATE = Path(__file__).resolve().parent.parent / "assets" / "template.html"

parser = argparse.ArgumentParser(description="Set a press release.")
parser.add_argument("text", type=Path)
parser.add_argument("--output", type=Path, required=True)
args = parser.parse_args()
lines = args.text.read_text(encoding="utf-8").splitlines()
headline, place = (lines + ["", ""])[:2]
body = "".join(f"<p>{html.escape(line)}</p>" for line in lines[2:] if line.strip())
page = TEMPLATE.read_text(encoding="utf-8")
page = page.replace("{{headline}}", html.escape(headline.lstrip("# "))).replace("{{place}}", html.escape(place))
args.output.write_text(page.replace("{{body}}", body), encoding="utf-8")
print(f"saved {args.output}")
