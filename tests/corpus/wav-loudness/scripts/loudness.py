"""Peak and average loudness of a PCM WAV file."""
import argparse
import array
import json
import math
import sys
import wave

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("recording")
parser.add_argument("--report", help="save the figures as JSON")
args = parser.parse_args()

try:
    with wave.open(args.recording) as sound:
        width, rate, channels = sound.getsampwidth(), sound.getframerate(), sound.getnchannels()
        raw = sound.readframes(sound.getnframes())
except (wave.Error, EOFError) as problem:
    sys.exit(f"{args.recording}: {problem}")
if width == 1:
    samples = [(value - 128) / 128 for value in raw]
elif width in (2, 4):
    full = float(1 << (8 * width - 1))
    samples = [value / full for value in array.array("h" if width == 2 else "i", raw)]
else:
    sys.exit(f"{8 * width} bit samples are not supported")


def decibel(level):
    return round(20 * math.log10(level), 1) if level > 0 else None


peak = max(map(abs, samples), default=0)
average = math.sqrt(sum(value * value for value in samples) / len(samples)) if samples else 0
figures = {
    "seconds": round(len(samples) / channels / rate, 2),
    "peak_dbfs": decibel(peak),
    "average_dbfs": decibel(average),
    "clipped": peak >= 0.999,
    "silent": peak < 0.001,
}
print(json.dumps(figures))
if args.report:
    with open(args.report, "w", encoding="utf-8") as handle:
        json.dump(figures, handle, indent=2)
