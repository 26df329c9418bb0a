import json
import sys

KINDS = {"string": str, "number": (int, float), "boolean": bool, "array": list, "object": dict}


def kind_of(value):
    if isinstance(value, bool):
        return "boolean"
    return next((name for name, kind in KINDS.items() if isinstance(value, kind)), "null")


def violations(contract, document):
    for field, rule in contract.items():
        if field not in document:
            if rule.get("required"):
                yield f"{field}: missing"
            continue
        value = document[field]
        if "type" in rule and kind_of(value) != rule["type"]:
            yield f"{field}: expected {rule['type']}, found {kind_of(value)}"
        elif "one_of" in rule and value not in rule["one_of"]:
            yield f"{field}: {value!r} is not one of {', '.join(map(str, rule['one_of']))}"


if len(sys.argv) != 3:
    print("usage: check.py CONTRACT DOCUMENT", file=sys.stderr)
    sys.exit(2)
try:
    contract, document = (json.load(open(path, encoding="utf-8")) for path in sys.argv[1:])
except (OSError, json.JSONDecodeError) as problem:
    print(problem, file=sys.stderr)
    sys.exit(2)
found = list(violations(contract, document))
print("\n".join(found) if found else f"ok: {sys.argv[2]} keeps the contract")
sys.exit(1 if found else 0)
