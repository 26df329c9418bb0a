import sys

if len(sys.argv) != 2 or set(sys.argv[1].upper()) - set("ACGTN"):
    sys.exit("usage: revcomp.py SEQUENCE (letters A, C, G, T and N)")
print(sys.argv[1].upper().translate(str.maketrans("ACGTN", "TGCAN"))[::-1])
