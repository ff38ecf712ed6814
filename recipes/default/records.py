"""Write the records that the included model is trained on, by subject.

    python recipes/default/records.py DATA OUT

DATA is the folder of the training pool. OUT/computing.jsonl holds the records about computing, the
subject of the usual test sets, and OUT/others.jsonl all others. OUT/core.jsonl and OUT/rest.jsonl
divide those about computing: the core is most like KP20k. `one2set prepare` draws some files more
often than others (`--oversample`).
"""

import json
import sys
from contextlib import ExitStack
from pathlib import Path

import zstandard

# The pool's own log-odds score of being like KP20k: of records about computing, and of their core.
COMPUTING, CORE = -3.34, -2.0


def main() -> None:
    data, out = map(Path, sys.argv[1:])
    out.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        computing, core, rest, others = (
            stack.enter_context((out / f"{name}.jsonl").open("w", encoding="utf-8"))
            for name in ("computing", "core", "rest", "others")
        )
        for path in sorted(data.glob("train-*.jsonl.zst")):
            with zstandard.open(path, "rt", encoding="utf-8") as lines:
                for line in lines:
                    score = json.loads(line).get("computing", 0.0)
                    if score < COMPUTING:
                        others.write(line)
                    else:
                        computing.write(line)
                        (core if score >= CORE else rest).write(line)
        for file in computing, core:
            file.write((data / "train-kp20k-992.jsonl").read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
