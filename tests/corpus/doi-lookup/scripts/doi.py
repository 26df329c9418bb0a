import argparse
import json
import sys
import urllib.error
import urllib.parse
import urllib.request

parser = argparse.ArgumentParser(description="Look up a DOI at Crossref.")
parser.add_argument("doi")
parser.add_argument("--bibtex", action="store_true")
parser.add_argument("--mailto")
args = parser.parse_args()
url = f"https://api.crossref.org/works/{urllib.parse.quote(args.doi)}"
if args.mailto:
    url += f"?mailto={urllib.parse.quote(args.mailto)}"
try:
    with urllib.request.urlopen(url, timeout=20) as answer:
        work = json.load(answer)["message"]
except urllib.error.HTTPError as problem:
    sys.exit(f"Crossref does not know {args.doi} ({problem.code})")
except OSError as problem:
    sys.exit(f"Crossref cannot be reached: {problem}")
authors = [f"{one.get('family', '')}, {one.get('given', '')}" for one in work.get("author", [])]
title = (work.get("title") or [""])[0]
journal = (work.get("container-title") or [""])[0]
year = work.get("issued", {}).get("date-parts", [[""]])[0][0]
if args.bibtex:
    print(f"@article{{doi,\n  title = {{{title}}},\n  author = {{{' and '.join(authors)}}},")
    print(f"  journal = {{{journal}}},\n  year = {{{year}}},\n  doi = {{{args.doi}}}\n}}")
else:
    print(f"{'; '.join(authors)} ({year}). {title}. {journal}. https://doi.org/{args.doi}")
