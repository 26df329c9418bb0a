import sys

SIGNS = [
    (1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"),
    (50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I"),
]


def to_roman(number):
    text = ""
    for value, sign in SIGNS:
        text += sign * (number // value)
        number %= value
    return text


def to_number(text):
    values = {sign: value for value, sign in SIGNS if len(sign) == 1}
    total = 0
    for sign, following in zip(text, text[1:] + " "):
        value = values[sign]
        total += -value if values.get(following, 0) > value else value
    return total


if len(sys.argv) != 2:
    print("usage: roman.py NUMBER|NUMERAL", file=sys.stderr)
    sys.exit(2)
given = sys.argv[1].upper()
if given.isdigit() and 0 < int(given) < 4000:
    print(to_roman(int(given)))
elif given and set(given) <= set("MDCLXVI") and to_roman(to_number(given)) == given:
    print(to_number(given))
else:
    print(f"{sys.argv[1]} is neither a number from 1 to 3999 nor a Roman numeral", file=sys.stderr)
    sys.exit(2)
