import argparse
import hashlib
import json
from datetime import datetime, timedelta

parser = argparse.ArgumentParser(description="Make an .ics file of events.")
parser.add_argument("events")
parser.add_argument("--name", default="Events")
parser.add_argument("--output", default="calendar.ics")
args = parser.parse_args()
with open(args.events, encoding="utf-8") as handle:
    events = json.load(handle)
if not isinstance(events, list) or not all(isinstance(one, dict) and {"title", "start"} <= set(one) for one in events):
    parser.error(f"{args.events} must hold a list of events with title and start")


def clean(text):
    return text.replace("\\", "\\\\").replace(";", "\\;").replace(",", "\\,").replace("\n", "\\n")


lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//calendar-ics//EN", f"X-WR-CALNAME:{clean(args.name)}"]
for event in events:
    start = datetime.fromisoformat(event["start"])
    end = start + timedelta(minutes=event.get("minutes", 60))
    key = hashlib.sha256(f"{event['title']}{start}".encode()).hexdigest()[:16]
    lines += [
        "BEGIN:VEVENT",
        f"UID:{key}@calendar-ics",
        "DTSTAMP:20240101T000000Z",
        f"DTSTART:{start:%Y%m%dT%H%M%S}",
        f"DTEND:{end:%Y%m%dT%H%M%S}",
        f"SUMMARY:{clean(event['title'])}",
    ]
    if "place" in event:
        lines.append(f"LOCATION:{clean(event['place'])}")
    lines.append("END:VEVENT")
lines.append("END:VCALENDAR")
with open(args.output, "w", encoding="utf-8", newline="") as handle:
    handle.write("\r\n".join(lines) + "\r\n")
print(f"{len(events)} events in {args.output}")
