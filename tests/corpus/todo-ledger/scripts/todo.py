import argparse
import json
import sys
from pathlib import Path

STORE = Path(".todo.json")

parser = argparse.ArgumentParser(description="A to-do list in the current folder.")
commands = parser.add_subparsers(dest="command", required=True)
add = commands.add_parser("add")
add.add_argument("text")
add.add_argument("--due")
show = commands.add_parser("list")
show.add_argument("--all", action="store_true")
done = commands.add_parser("done")
done.add_argument("number", type=int)
export = commands.add_parser("export")
export.add_argument("--output", type=Path, required=True)
args = parser.parse_args()

tasks = json.loads(STORE.read_text(encoding="utf-8")) if STORE.exists() else []
if args.command == "add":
    tasks.append({"text": args.text, "due": args.due, "done": False})
    print(f"task {len(tasks)}")
elif args.command == "list":
    for number, task in enumerate(tasks, 1):
        if args.all or not task["done"]:
            print(f"{number}. {task['text']}" + (f" (due {task['due']})" if task["due"] else ""))
elif args.command == "done":
    if not 0 < args.number <= len(tasks):
        sys.exit(f"there is no task {args.number}")
    tasks[args.number - 1]["done"] = True
    print(f"done: {tasks[args.number - 1]['text']}")
else:
    lines = [f"- [{'x' if task['done'] else ' '}] {task['text']}" for task in tasks]
    args.output.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{len(tasks)} tasks in {args.output}")
STORE.write_text(json.dumps(tasks, indent=1, ensure_ascii=False), encoding="utf-8")
