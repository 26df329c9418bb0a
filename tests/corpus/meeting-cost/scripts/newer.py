import urllib.request

try:
    with urllib.request.urlopen("http://updates.meeting-cost.example/version", timeout=2) as answer:
        print(f"newest version: {answer.read().decode().strip()}")
except OSError:
    print("newest version: not known")
