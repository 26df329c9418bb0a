import json
import sys

from tabulate import tabulate

with open(sys.argv[1], encoding="utf-8") as handle:
    print(tabulate(json.load(handle), headers="keys", tablefmt="grid"))
