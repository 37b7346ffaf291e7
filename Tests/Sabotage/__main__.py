"""Puts classic faults into a copy of the sources, one at a time, and shows which of them simulated days catch.

    python3 -B -m Sabotage check            whether every fault still fits the sources
    python3 -B -m Sabotage run [NAME …]     build the copy and print the table (SEEDS, JOBS and SWIFT from the environment)

A fault is a file `Faults/NAME.txt`: what it is called, then its edits. An edit names a file and shows the text that is there,
found once, and the text that stands there instead; in the latter `SABOTAGED` is true only while this fault is chosen. So the
product holds no switch, and all faults are one build.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FAULTS = pathlib.Path(__file__).resolve().parent / "Faults"
WORK = ROOT / ".build" / "sabotage"

# One a module, since a module sees only its own.
SWITCH = """import Glibc

/// Whether this process runs with the fault of that name.
func isSabotaged(_ name: String) -> Bool { sabotageName == name }

private let sabotageName = getenv("SABOTAGE").map { String(cString: $0) }
"""


class Fault:
    def __init__(self, path):
        self.name = path.stem
        title, *parts = re.split(r"^=== (.+)\n", path.read_text(), flags=re.MULTILINE)
        self.title = " ".join(title.split())
        self.edits = []
        for file, body in zip(parts[::2], parts[1::2]):
            old, new = body.split("\n---\n")
            self.edits.append((file, old.strip("\n"), new.strip("\n").replace("SABOTAGED", f'isSabotaged("{self.name}")')))

    def troubles(self, texts):
        for file, old, new in self.edits:
            count = texts[file].count(old) if file in texts else 0
            if count != 1:
                yield f"{self.name}: its text is in {file} {count} times"
            if "isSabotaged" not in new:
                yield f"{self.name}: an edit of {file} is always in force"
        if not self.title or not self.edits:
            yield f"{self.name}: has no title or no edit"


def faults():
    return [Fault(path) for path in sorted(FAULTS.glob("*.txt"))]


def sabotaged(all_faults):
    """The texts of the edited sources, with every fault in them."""
    files = {file for fault in all_faults for file, _, _ in fault.edits}
    texts = {file: (ROOT / file).read_text() for file in files if (ROOT / file).exists()}
    troubles = [trouble for fault in all_faults for trouble in fault.troubles(texts)]
    if not troubles:
        for fault in all_faults:
            for file, old, new in fault.edits:
                if old in texts[file]:
                    texts[file] = texts[file].replace(old, new)
                else:
                    troubles.append(f"{fault.name}: another fault has changed its text in {file}")
    if troubles:
        sys.exit("\n".join(troubles))
    return texts


def write(path, text):
    """Writes what differs only, so that a build need not begin anew."""
    if path.exists() and path.read_text() == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def build(all_faults):
    package = WORK / "package"
    texts = sabotaged(all_faults)
    for module in {"/".join(file.split("/")[:2]) for file in texts}:
        texts[f"{module}/Sabotage.swift"] = SWITCH
    kept = set(texts) | {"Package.swift"}
    for path in [ROOT / "Package.swift", *sorted((ROOT / "Sources").rglob("*"))]:
        name = str(path.relative_to(ROOT))
        if path.is_file():
            kept.add(name)
            write(package / name, texts.pop(name, None) or path.read_text())
    for name, text in texts.items():
        write(package / name, text)
    for path in (package / "Sources").rglob("*"):
        if path.is_file() and str(path.relative_to(package)) not in kept:
            path.unlink()
    for folder in ["Tests", "Templates", "Examples"]:
        link = package / folder
        if not link.is_symlink():
            link.symlink_to(ROOT / folder)
    swift = os.environ.get("SWIFT", "swift")
    command = [swift, "build", "-c", "release", "--package-path", package, "--scratch-path", WORK / "build"]
    subprocess.run([*command, "--product", "tidemark-sim"], check=True, stdout=sys.stderr)
    where = subprocess.run([*command, "--show-bin-path"], check=True, capture_output=True, text=True)
    return pathlib.Path(where.stdout.strip()) / "tidemark-sim"


def first_caught(program, fault, seeds):
    """The first seed that fails with a fault and goes well without, and what was complained of."""
    first, last = map(int, seeds.split(".."))
    while first <= last:
        run = subprocess.run(
            [program, "--seeds", f"{first}..{last + 1}", "--first"], env={**os.environ, "SABOTAGE": fault.name},
            capture_output=True, text=True)
        found = [(int(seed), text) for seed, text in re.findall(r"^seed (\d+) failed:\n  (.*)$", run.stdout, re.MULTILINE)]
        if not found and run.returncode < 0:
            return first, f"the program ended with signal {-run.returncode}"
        for seed, complaint in sorted(found):
            if subprocess.run([program, "--seed", str(seed), "--trace"], capture_output=True).returncode == 0:
                return seed, complaint
        if not found:
            break
        first = max(seed for seed, _ in found) + 1
    return None, ""


def main(words):
    match words:
        case ["check"]:
            sabotaged(faults())
        case ["run", *names]:
            chosen = [fault for fault in faults() if not names or fault.name in names]
            program = build(faults())
            seeds = os.environ.get("SEEDS", "1..2000")
            missed = 0
            width = max(len(fault.name) for fault in chosen)
            print(f"{'fault'.ljust(width)}  seeds  caught by")
            for fault in chosen:
                seed, complaint = first_caught(program, fault, seeds)
                missed += seed is None
                print(f"{fault.name.ljust(width)}  {'none' if seed is None else seed:>5}  {complaint[:150]}", flush=True)
            print(f"{len(chosen) - missed} of {len(chosen)} caught within seeds {seeds}")
            sys.exit(1 if missed else 0)
        case _:
            sys.exit(__doc__)


main(sys.argv[1:])
