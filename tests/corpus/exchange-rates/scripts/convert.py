import argparse
import json
import re
import urllib.request
from pathlib import Path

FEED = "https://www.ecb.europa.eu/stats/eurofxref/eurofxref-daily.xml"
TABLE = Path(__file__).resolve().parent.parent / "assets" / "rates.json"

parser = argparse.ArgumentParser(description="Convert an amount with reference rates.")
parser.add_argument("amount", type=float)
parser.add_argument("source")
parser.add_argument("target")
parser.add_argument("--offline", action="store_true", help="do not ask for newer rates")
args = parser.parse_args()


def newest():
    with urllib.request.urlopen(FEED, timeout=3) as answer:
        text = answer.read().decode()
    date = re.search(r"time='([\d-]+)'", text)[1]
    found = dict(re.findall(r"currency='([A-Z]{3})' rate='([\d.]+)'", text))
    return {"EUR": 1.0} | {name: float(rate) for name, rate in found.items()}, f"rates of {date}"


try:
    if args.offline:
        raise OSError
    rates, note = newest()
except (OSError, TypeError):
    table = json.loads(TABLE.read_text())
    rates, note = table["rates"], f"table of {table['date']}, no newer rates within reach"
unknown = [name for name in (args.source, args.target) if name not in rates]
if unknown:
    parser.error(f"no rate for {', '.join(unknown)}")
value = args.amount / rates[args.source] * rates[args.target]
print(f"{args.amount:.2f} {args.source} = {value:.2f} {args.target} ({note})")
