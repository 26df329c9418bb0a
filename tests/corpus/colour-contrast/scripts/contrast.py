import argparse


def channel(value):
    value /= 255
    return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4


def luminance(colour):
    digits = colour.lstrip("#")
    if len(digits) == 3:
        digits = "".join(digit * 2 for digit in digits)
    if len(digits) != 6:
        raise ValueError(f"{colour} is no colour such as #336699")
    red, green, blue = (channel(int(digits[i : i + 2], 16)) for i in (0, 2, 4))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="WCAG contrast of two colours.")
    parser.add_argument("one")
    parser.add_argument("two")
    parser.add_argument("--size", choices=["normal", "large"], default="normal")
    args = parser.parse_args()
    try:
        darker, lighter = sorted((luminance(args.one), luminance(args.two)))
    except ValueError as problem:
        parser.error(str(problem))
    ratio = (lighter + 0.05) / (darker + 0.05)
    levels = (4.5, 7) if args.size == "normal" else (3, 4.5)
    grade = "AAA" if ratio >= levels[1] else "AA" if ratio >= levels[0] else "too low"
    print(f"{ratio:.2f}:1, {grade} for {args.size} text")
