import argparse
from pathlib import Path

from playwright.sync_api import sync_playwright

parser = argparse.ArgumentParser(description="Take a screenshot.")
parser.add_argument("page", type=Path)
parser.add_argument("--width", type=int, default=1280)
parser.add_argument("--output", default="page.png")
args = parser.parse_args()
with sync_playwright() as driver:
    browser = driver.chromium.launch()
    page = browser.new_page(viewport={"width": args.width, "height": 800})
    page.goto(args.page.resolve().as_uri())
    page.screenshot(path=args.output, full_page=True)
    browser.close()
print(f"saved {args.output}")
