import argparse
from datetime import datetime
from pathlib import Path

parser = argparse.ArgumentParser(description="Rename photos by date.")
parser.add_argument("folder", type=Path)
parser.add_argument("--dry-run", action="store_true")
args = parser.parse_args()
for number, photo in enumerate(sorted(args.folder.glob("*.jp*g")), 1):
    day = datetime.fromtimestamp(photo.stat().st_mtime).strftime("%Y-%m-%d")
    target = photo.with_name(f"{day}_{number:03}{photo.suffix.lower()}")
    print(f"{photo.name} -> {target.name}")
    if not args.dry_run:
        photo.rename(target)
