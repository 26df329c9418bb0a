import argparse
import json
import os
import sys
import urllib.parse
import urllib.request

parser = argparse.ArgumentParser(description="查询城市天气")
parser.add_argument("city")
parser.add_argument("--forecast", action="store_true")
args = parser.parse_args()
key = os.environ.get("AMAP_KEY", "")
if not key or key == "你的密钥":
    sys.exit("错误：没有设置环境变量 AMAP_KEY")
query = urllib.parse.urlencode(
    {"key": key, "city": args.city, "extensions": "all" if args.forecast else "base"}
)
with urllib.request.urlopen(f"https://restapi.amap.com/v3/weather/weatherInfo?{query}", timeout=20) as answer:
    print(json.dumps(json.load(answer), ensure_ascii=False, indent=1))
