"""Length, GC content and open reading frames of the sequences of a FASTA file."""
import argparse
import re
import sys

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("fasta")
parser.add_argument("--orfs", type=int, metavar="N", help="count open reading frames of at least N bases")
parser.add_argument("--output")
args = parser.parse_args()

records, name = {}, None
with open(args.fasta, encoding="utf-8") as handle:
    for line in handle:
        line = line.strip()
        if line.startswith(">"):
            name = line[1:].split()[0]
            records[name] = ""
        elif line and name:
            records[name] += line.upper()
if not records:
    sys.exit(f"{args.fasta}: no FASTA records found")

lines = ["id\tlength\tgc" + ("\torfs" if args.orfs else "")]
for name, bases in records.items():
    known = len(re.findall("[ACGT]", bases)) or 1
    line = f"{name}\t{len(bases)}\t{100 * len(re.findall('[GC]', bases)) / known:.1f}"
    if args.orfs:
        found = re.finditer("(?=(ATG(?:[ACGT]{3})*?(?:TAA|TAG|TGA)))", bases)
        line += f"\t{sum(len(match.group(1)) >= args.orfs for match in found)}"
    lines.append(line)
print("\n".join(lines))
if args.output:
    with open(args.output, "w", encoding="utf-8") as handle:
        handle.write("\n".join(lines) + "\n")
