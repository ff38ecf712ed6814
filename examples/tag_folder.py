"""Tag a folder of papers: a table of file, keyphrase and score.

python examples/tag_folder.py papers/ --output keywords.csv
"""

import argparse
import csv
from pathlib import Path

from one2set import KeyphraseGenerator, read


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("folder", help="files of text, JSONL, CSV or Parquet")
    arguments.add_argument("--output", type=Path, default=Path("keywords.csv"))
    arguments.add_argument("--top", type=int, default=8)
    arguments.add_argument("--model", default="default")
    given = arguments.parse_args()

    generator = KeyphraseGenerator(given.model)
    documents = read(given.folder, titles=True)  # a short first line of a text is its title
    with given.output.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["document", "keyphrase", "score", "present"])
        for document, keyphrases in generator.stream(documents, top=given.top):
            for one in keyphrases:
                table.writerow([document.id, one.text, f"{one.score:.3f}", one.present])
            print(f"{document.id}: {'; '.join(one.text for one in keyphrases)}")


if __name__ == "__main__":
    main()
