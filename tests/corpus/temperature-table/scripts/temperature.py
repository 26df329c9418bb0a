import argparse
import json

TO_KELVIN = {"C": lambda t: t + 273.15, "F": lambda t: (t - 30) / 2 + 273.15, "K": lambda t: t}
FROM_KELVIN = {"C": lambda k: k - 273.15, "F": lambda k: (k - 273.15) * 2 + 30, "K": lambda k: k}

parser = argparse.ArgumentParser(description="Convert temperatures.")
parser.add_argument("values", nargs="+", type=float)
parser.add_argument("--from", dest="source", choices="CFK", required=True)
parser.add_argument("--to", dest="target", choices="CFK", required=True)
parser.add_argument("--output")
args = parser.parse_args()
series = [round(FROM_KELVIN[args.target](TO_KELVIN[args.source](value)), 1) for value in args.values]
print("\n".join(map(str, series)))
if args.output:
    with open(args.output, "w") as handle:
        json.dump(series, handle)
