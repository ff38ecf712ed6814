"""Train a model further on a CSV of your own: columns title, abstract and keyphrases (a;b;c).

python examples/fine_tune.py papers.csv my-model
"""

import argparse
import random
import subprocess
import sys
from pathlib import Path

import orjson

from one2set import read


def one2set(*arguments: str | Path) -> None:
    """A command, as on the command line."""
    subprocess.run([sys.executable, "-m", "one2set", *map(str, arguments)], check=True)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("table")
    arguments.add_argument("output", type=Path, help="a folder for the model and all on the way")
    arguments.add_argument("--model", default="default", help="where to begin")
    arguments.add_argument("--scale", default="further", help="the learning rate and its like")
    arguments.add_argument("--minutes", default="60")
    given = arguments.parse_args()

    # A fifth is kept from training: it chooses the best weights, and calibrates them.
    documents = [document for document in read(given.table) if document.keyphrases]
    random.Random(0).shuffle(documents)
    fifth = max(len(documents) // 5, 1)
    given.output.mkdir(parents=True)
    train, held_out = given.output / "train.jsonl", given.output / "held-out.jsonl"
    for path, some in ((train, documents[fifth:]), (held_out, documents[:fifth])):
        path.write_bytes(b"".join(orjson.dumps(document) + b"\n" for document in some))

    names = ("corpus", "run", "exported", "model")
    corpus, run, exported, model = (given.output / name for name in names)
    one2set("prepare", corpus, "--train", train, "--valid", held_out, "--vocabulary", given.model)
    one2set(
        *("train", corpus, "--from", given.model, "--output", run),
        *("--scale", given.scale, "--minutes", given.minutes),
    )
    one2set("export", run, "--output", exported)
    one2set("learn", exported, "--documents", train, "--from", given.model, "--output", model)
    one2set("calibrate", model, held_out)
    print(f'done: one2set generate --model {model} "Some text"')


if __name__ == "__main__":
    main()
