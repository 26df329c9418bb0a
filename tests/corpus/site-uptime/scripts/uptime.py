import argparse
import socket
import ssl
import sys
import time
from urllib.parse import urlsplit

parser = argparse.ArgumentParser(description="See whether sites answer.")
parser.add_argument("urls", nargs="+")
args = parser.parse_args()
down = 0
for url in args.urls:
    host = urlsplit(url).hostname or url
    began = time.monotonic()
    try:
        with socket.create_connection((host, 443), timeout=10) as plain:
            with ssl.create_default_context().wrap_socket(plain, server_hostname=host) as link:
                until = ssl.cert_time_to_seconds(link.getpeercert()["notAfter"])
                link.sendall(f"HEAD / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
                status = link.recv(64).split()[1].decode()
    except OSError as problem:
        down += 1
        print(f"{host}: no answer ({problem})")
        continue
    days = (until - time.time()) / 86400
    print(f"{host}: {status}, {1000 * (time.monotonic() - began):.0f} ms, certificate good for {days:.0f} days")
sys.exit(1 if down else 0)
