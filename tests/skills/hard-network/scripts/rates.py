"""Convert an amount of money at today's exchange rates."""

import sys
import urllib.request

amount, source, target = sys.argv[1:4]
address = f"https://rates.invalid/latest?from={source}&to={target}"
for _ in range(2):
    try:
        with urllib.request.urlopen(address, timeout=5) as answer:
            print(float(amount) * float(answer.read()))
            break
    except OSError as error:
        print(f"no rates: {error}", file=sys.stderr)
else:
    sys.exit(1)
