import argparse

import segno
from segno import helpers

parser = argparse.ArgumentParser(description="Make a QR code.")
parser.add_argument("text", nargs="?")
parser.add_argument("--wifi", nargs=2, metavar=("NAME", "PASSWORD"))
parser.add_argument("--output", default="code.svg")
args = parser.parse_args()
if args.wifi:
    code = helpers.make_wifi(ssid=args.wifi[0], password=args.wifi[1], security="WPA")
elif args.text:
    code = segno.make(args.text)
else:
    parser.error("give a text or --wifi")
code.save(args.output, scale=4)
print(f"saved {args.output}")
