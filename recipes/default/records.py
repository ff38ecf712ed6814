"""Write the records that the shipped model is trained on, by subject.

    python recipes/default/records.py DATA OUT

DATA is the folder of the training pool. OUT/computing.jsonl holds the records about computing, the
subject of the usual test sets; OUT/others.jsonl holds all others. `one2set prepare` draws the first
ones more often (`--oversample`).
"""

import json
import sys
from pathlib import Path

import zstandard

COMPUTING = -3.34  # the pool's own log-odds score of being about computing


def main() -> None:
    data, out = map(Path, sys.argv[1:])
    out.mkdir(parents=True, exist_ok=True)
    with (
        (out / "computing.jsonl").open("w", encoding="utf-8") as computing,
        (out / "others.jsonl").open("w", encoding="utf-8") as others,
    ):
        for path in sorted(data.glob("train-*.jsonl.zst")):
            with zstandard.open(path, "rt", encoding="utf-8") as lines:
                for line in lines:
                    is_computing = json.loads(line).get("computing", 0.0) >= COMPUTING
                    (computing if is_computing else others).write(line)
        computing.write((data / "train-kp20k-992.jsonl").read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
