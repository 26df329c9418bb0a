import argparse

parser = argparse.ArgumentParser(description="Draw two colours on each other.")
parser.add_argument("one")
parser.add_argument("two")
parser.add_argument("--output", default="swatch.svg")
args = parser.parse_args()
svg = f'<svg xmlns="http://www.w3.org/2000/svg" width="200" height="80"><rect fill="{args.one}"/></svg>'
with open(args.ouput, "w", encoding="utf-8") as handle:
    handle.write(svg)
