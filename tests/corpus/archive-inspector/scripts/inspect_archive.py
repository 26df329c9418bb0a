"""List the entries of an archive and flag suspicious ones."""
import argparse
import sys
import tarfile
import zipfile

parser = argparse.ArgumentParser(
    description=__doc__, epilog="example: inspect_archive.py upload.zip --limit 20"
)
parser.add_argument("archive", help="a .zip, .tar or .tar.gz file")
parser.add_argument("--limit", type=int, default=100, help="show at most so many entries")
args = parser.parse_args()

if zipfile.is_zipfile(args.archive):
    with zipfile.ZipFile(args.archive) as archive:
        entries = [(entry.filename, entry.file_size) for entry in archive.infolist()]
elif tarfile.is_tarfile(args.archive):
    with tarfile.open(args.archive) as archive:
        entries = [(entry.name, entry.size) for entry in archive]
else:
    sys.exit(f"{args.archive} is no archive that can be read")
suspicious = [name for name, _ in entries if name.startswith("/") or ".." in name.split("/")]
for name, size in entries[: args.limit]:
    print(f"{size:>12} {name}" + (" suspicious" if name in suspicious else ""))
print(f"{len(entries)} entries, {sum(size for _, size in entries)} bytes, {len(suspicious)} suspicious")
sys.exit(1 if suspicious else 0)
