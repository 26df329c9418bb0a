import argparse

import pyarrow.parquet as pq

parser = argparse.ArgumentParser()
parser.add_argument("file")
parser.add_argument("--rows", type=int, default=5)
args = parser.parse_args()
table = pq.read_table(args.file)
print(table.schema)
print(f"{table.num_rows} rows")
print(table.slice(0, args.rows).to_pylist())
