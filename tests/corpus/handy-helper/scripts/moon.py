import sys
from datetime import date

NAMES = ["new moon", "waxing crescent", "first quarter", "waxing gibbous",
         "full moon", "waning gibbous", "last quarter", "waning crescent"]
days = (date.fromisoformat(sys.argv[1]) - date(2000, 1, 6)).days
age = days % 29.530588
print(f"{age:.1f} days, {NAMES[int(age / 29.530588 * 8 + 0.5) % 8]}")
