import sys

import pyarrow as pa
import pyarrow.parquet as pq

pq.write_table(pa.table({"city": ["Rome", "Oslo"], "people": [2800000, 700000]}), sys.argv[1])
print(f"made {sys.argv[1]}")
