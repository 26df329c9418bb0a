import json
import sys

with open(sys.argv[1], encoding="utf-8") as handle:
    order = json.load(handle)
net = sum(position["price"] for position in order["positions"])
tax = net * order["tax_percent"] / 100
print(json.dumps({"net": round(net, 2), "tax": round(tax, 2), "gross": round(net + tax, 2)}))
