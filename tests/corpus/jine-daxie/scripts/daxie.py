import re
import sys

DIGITS = "零壹贰叁肆伍陆柒捌玖"


def four(number):
    """四位以内的整数。"""
    text, zero = "", False
    for unit, name in ((1000, "仟"), (100, "佰"), (10, "拾"), (1, "")):
        digit = number // unit % 10
        if digit:
            text += ("零" if zero else "") + DIGITS[digit] + name
            zero = False
        else:
            zero = bool(text)
    return text


def whole(number):
    text, gap = "", False
    for unit, name in ((10**8, "亿"), (10**4, "万"), (1, "")):
        part = number // unit % 10**4
        if part:
            text += ("零" if text and (gap or part < 1000) else "") + four(part) + name
            gap = False
        else:
            gap = bool(text)
    return text


def daxie(amount):
    if not re.fullmatch(r"\d{1,12}(\.\d{1,2})?", amount):
        raise ValueError(f"金额不正确：{amount}")
    yuan, _, rest = amount.partition(".")
    jiao, fen = (int(digit) for digit in rest.ljust(2, "0"))
    text = whole(int(yuan))
    text += "元" if text else ""
    if not jiao and not fen:
        return (text or "零元") + "整"
    if jiao:
        text += DIGITS[jiao] + "角"
    elif text:
        text += "零"
    return text + (DIGITS[fen] + "分" if fen else "整")


if len(sys.argv) < 2:
    print("用法：daxie.py 金额 [金额 …]", file=sys.stderr)
    sys.exit(2)
try:
    for amount in sys.argv[1:]:
        print(daxie(amount))
except ValueError as problem:
    print(problem, file=sys.stderr)
    sys.exit(2)
