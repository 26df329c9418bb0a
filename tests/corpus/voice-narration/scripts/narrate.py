import argparse
import os
import sys
from pathlib import Path

parser = argparse.ArgumentParser(description="Read a text aloud.")
parser.add_argument("text", type=Path)
parser.add_argument("--voice", default="cedar")
parser.add_argument("--out", type=Path, required=True)
args = parser.parse_args()
if not os.environ.get("OPENAI_API_KEY"):
    print("error: OPENAI_API_KEY is not set; export it before running.", file=sys.stderr)
    sys.exit(1)
from openai import OpenAI

args.out.parent.mkdir(parents=True, exist_ok=True)
speech = OpenAI().audio.speech.create(model="gpt-4o-mini-tts", voice=args.voice, input=args.text.read_text())
speech.write_to_file(args.out)
print(f"wrote {args.out}")
