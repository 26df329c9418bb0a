import argparse
from decimal import ROUND_HALF_UP, Decimal

CENT = Decimal("0.01")

parser = argparse.ArgumentParser(description="Print an invoice for a list of positions.")
parser.add_argument("positions")
parser.add_argument("--tax", type=Decimal, default=Decimal(0), help="per cent")
parser.add_argument("--number", default="1")
parser.add_argument("--output", required=True)
args = parser.parse_args()

lines, net = [f"Invoice {args.number}", ""], Decimal(0)
with open(args.positions, encoding="utf-8") as handle:
    for number, line in enumerate(handle, 1):
        if not line.strip():
            continue
        try:
            what, count, price = (part.strip() for part in line.split("|"))
            amount = Decimal(count) * Decimal(price)
        except (ValueError, ArithmeticError):
            parser.error(f"line {number}: write `what | how many | price`")
        net += amount
        lines.append(f"{what:<40}{count:>4} x {price:>10}{amount:>12.2f}")
tax = (net * args.tax / 100).quantize(CENT, ROUND_HALF_UP)
lines += ["", f"{'net':<57}{net:>12.2f}", f"{'tax ' + str(args.tax) + ' %':<57}{tax:>12.2f}"]
lines.append(f"{'gross':<57}{net + tax:>12.2f}")
with open(args.output, "w", encoding="utf-8") as handle:
    handle.write("\n".join(lines) + "\n")
print(f"gross {net + tax:.2f} in {args.output}")
