"""`python -m bench [name…]`: run the named measurements, or all of them."""

import asyncio
import importlib
import logging
import os
import pkgutil
import sys

import bench
from assay_servicekit.logs import configure_logs
from bench.report import Bench

PREFIX = "bench_"


def main() -> int:
    every = sorted(
        module.name.removeprefix(PREFIX)
        for module in pkgutil.iter_modules(bench.__path__)
        if module.name.startswith(PREFIX)
    )
    unknown = set(sys.argv[1:]) - set(every)
    if unknown:
        print(f"There is no bench {', '.join(sorted(unknown))}; there are {', '.join(every)}.")
        return 2
    configure_logs("bench", "WARNING")
    logging.disable(logging.INFO)  # FastStream gives its loggers a level of their own
    # What is measured is how fast it goes, not how fast one caller may go.
    os.environ["ASSAY_UPLOADS_PER_MINUTE"] = "1000000"
    results = Bench()
    for name in sys.argv[1:] or every:
        print(name)
        asyncio.run(importlib.import_module(f"bench.{PREFIX}{name}").run(results))
    for missed in results.missed:
        print(f"missed: {missed}")
    return 1 if results.missed else 0


if __name__ == "__main__":
    sys.exit(main())
