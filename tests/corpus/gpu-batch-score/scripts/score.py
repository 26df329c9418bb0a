import argparse
import ctypes
import sys

parser = argparse.ArgumentParser(description="Score texts on a GPU.")
parser.add_argument("texts")
parser.add_argument("--device", default="cuda:0")
parser.add_argument("--output", default="scores.csv")
args = parser.parse_args()
try:
    cuda = ctypes.CDLL("libcuda.so.1")
except OSError:
    sys.exit("error: no NVIDIA driver found (libcuda.so.1); this skill needs a GPU")
count = ctypes.c_int()
if cuda.cuInit(0) or cuda.cuDeviceGetCount(ctypes.byref(count)) or not count.value:
    sys.exit("error: no GPU that CUDA can use")
with open(args.texts, encoding="utf-8") as source, open(args.output, "w", encoding="utf-8") as target:
    for line in source:
        target.write(f"{len(line.split())},{line.strip()!r}\n")
print(f"scored on {args.device}")
