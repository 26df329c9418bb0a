import sys

print("digraph edges {")
with open(sys.argv[1], encoding="utf-8") as handle:
    for line in handle:
        if "->" in line:
            one, two = (part.strip() for part in line.split("->", 1))
            print(f'  "{one}" -> "{two}";')
print("}")
