"""Walk a site from its start page and report links that lead nowhere."""
import sys
import urllib.error
import urllib.request
from html.parser import HTMLParser
from urllib.parse import urldefrag, urljoin, urlsplit


class Links(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("href", "src") and value:
                self.found.append(value)


if len(sys.argv) != 2:
    sys.exit("usage: check_links.py START_URL")
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
start = sys.argv[1]
waiting, seen, broken = [(start, "-")], {start}, []
while waiting:
    url, page = waiting.pop()
    try:
        with opener.open(url, timeout=10) as answer:
            text = answer.read().decode("utf-8", "replace")
    except urllib.error.URLError as problem:
        broken.append(f"{page} -> {url}: {problem}")
        continue
    parser = Links()
    parser.feed(text)
    for link in parser.found:
        target = urldefrag(urljoin(url, link)).url
        if urlsplit(target).netloc == urlsplit(start).netloc and target not in seen:
            seen.add(target)
            waiting.append((target, url))
print("\n".join(broken))
print(f"{len(seen)} pages, {len(broken)} broken links")
sys.exit(1 if broken else 0)
