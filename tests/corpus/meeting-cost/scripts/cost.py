import argparse

parser = argparse.ArgumentParser(description="Cost of a meeting.")
parser.add_argument("--people", type=int, required=True)
parser.add_argument("--rate", type=float, required=True, help="per hour and person")
parser.add_argument("--minutes", type=float, required=True)
parser.add_argument("--weekly", action="store_true")
args = parser.parse_args()
cost = args.people * args.rate * args.minutes / 60
print(f"{cost:.2f} for one meeting")
if args.weekly:
    print(f"{52 * cost:.2f} a year")
