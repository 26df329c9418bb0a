import argparse
import csv

from Bio import SeqIO
from Bio.SeqUtils.ProtParam import ProteinAnalysis

parser = argparse.ArgumentParser()
parser.add_argument("fasta")
parser.add_argument("--output", required=True)
args = parser.parse_args()
with open(args.output, "w", newline="") as handle:
    writer = csv.writer(handle)
    writer.writerow(["id", "length", "weight", "pI"])
    for record in SeqIO.parse(args.fasta, "fasta"):
        protein = ProteinAnalysis(str(record.seq))
        writer.writerow([record.id, len(record.seq), protein.molecular_weight(), protein.isoelectric_point()])
print(f"saved {args.output}")
