"""Draw a bar chart of weekly rainfall measurements."""

import time

print("drawing ...", flush=True)
time.sleep(3600)
