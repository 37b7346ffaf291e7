"""Plays the scenarios of Scenarios.txt and prints each with pass, fail, or skipped and why.

    python3 -B Tests/scenarios.py PATH-OF-THE-TEST-BUNDLE [ID…]
"""

import json
import os
import re
import subprocess
import sys
import tempfile

TESTS = os.path.dirname(os.path.abspath(__file__))
ID = r"[A-Z]+-\d+"


def scenarios():
    with open(f"{TESTS}/Scenarios.txt") as file:
        lines = [line.split(None, 1) for line in file if line.strip() and not line.startswith("#")]
    return {id: title.strip() for id, title in lines}


def functions(wanted):
    """The names of the test functions whose display names begin with one of the ids."""
    found = set()
    for folder, _, names in os.walk(TESTS):
        for name in names:
            if not name.endswith(".swift"):
                continue
            with open(f"{folder}/{name}") as file:
                text = file.read()
            for match in re.finditer(rf'@Test\(\s*"({ID}): ', text):
                if match.group(1) in wanted:
                    found.add(re.compile(r"func (\w+)").search(text, match.end()).group(1))
    return found


def play(bundle, wanted):
    """Runs the tests; gives their ends by their display names: failures and reasons of skips."""
    names = "|".join(sorted(functions(wanted)))
    with tempfile.TemporaryDirectory() as folder:
        events = f"{folder}/events"
        subprocess.run(
            [
                bundle, "--testing-library", "swift-testing", "--filter", rf"/({names})\(",
                "--event-stream-output-path", events, "--event-stream-version", "0",
            ],
            stdout=sys.stderr,
        )
        with open(events) as file:
            records = [json.loads(line) for line in file]
    return records


def main():
    bundle, *ids = sys.argv[1:]
    every = scenarios()
    wanted = {id: title for id, title in every.items() if not ids or id in ids}
    titles, ended, failed, skipped = {}, set(), {}, {}
    for record in play(bundle, wanted):
        payload = record["payload"]
        if record["kind"] == "test" and payload.get("displayName"):
            titles[payload["id"]] = payload["displayName"]
        if record["kind"] != "event":
            continue
        test, texts = payload.get("testID"), [message["text"] for message in payload.get("messages", [])]
        kind = payload["kind"]
        if kind == "testEnded":
            ended.add(test)
        elif kind == "issueRecorded" and not payload.get("issue", {}).get("isKnown"):
            failed.setdefault(test, []).extend(texts)
        elif kind in ("testSkipped", "testCancelled", "testCaseCancelled"):
            skipped.setdefault(test, []).extend(texts)
    counts = {"pass": 0, "fail": 0, "skipped": 0}
    for id, title in wanted.items():
        tests = [test for test, name in titles.items() if name.startswith(f"{id}: ")]
        broken = [test for test in tests if test in failed]
        left = [test for test in tests if test in skipped and test not in failed]
        unended = [test for test in tests if test not in ended and test not in skipped]
        if not tests or broken or unended:
            word, why = "fail", [titles[test] for test in broken + unended] or ["it has no test"]
        elif len(left) == len(tests):
            word, why = "skipped", [text for test in left for text in skipped[test]]
        else:
            word, why = "pass", [f"without: {text}" for test in left for text in skipped[test]]
        counts[word] += 1
        print(f"{word:8} {id:11} {title}" + "".join(f"\n{'':21}{reason}" for reason in dict.fromkeys(why)))
    print(f"{len(wanted)} scenarios: {counts['pass']} pass, {counts['fail']} fail, {counts['skipped']} skipped")
    sys.exit(1 if counts["fail"] else 0)


main()
