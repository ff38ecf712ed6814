"""`one2set import-checkpoint` as a user calls it."""

import json
import os
import pickle
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from one2set.data.batch import collate
from one2set.data.reading.readers import read
from one2set.errors import ConfigError, DataError
from one2set.model.folder import load_model
from tests.commands import read_jsonl, run

SAMPLE = str(files("one2set.data") / "sample" / "documents.jsonl")


@pytest.fixture(scope="session")
def reference(shared: Path) -> Path:
    return shared / "reference"


def import_reference(reference: Path, kind: str, folder: Path, *options: str) -> str:
    checkpoint = reference / "checkpoint"
    model, vocabulary = checkpoint / f"{kind}_best_model.pt", checkpoint / "vocab.pt"
    heads = options or ("--heads", "4")
    return run("import-checkpoint", model, "--vocab", vocabulary, *heads, folder)


def recorded(reference: Path) -> list[dict[str, Any]]:
    return read_jsonl(reference / "data" / "docs.jsonl")


@pytest.fixture
def sources(reference: Path, tmp_path: Path) -> Path:
    """The recorded documents as the field's file."""
    path = tmp_path / "test_src.txt"
    path.write_text("".join(f"{document['src_line']}\n" for document in recorded(reference)))
    return path


@pytest.mark.shared
def test_from_a_checkpoint_to_the_release_s_own_predictions(
    reference: Path, sources: Path, tmp_path: Path
) -> None:
    output = import_reference(reference, "set", tmp_path / "model")
    assert "One2Set, 231,937 weights, 400 words, 8 control codes" in output
    assert load_model(tmp_path / "model").config["system"] == "settrans"
    predictions = tmp_path / "predictions.txt"
    run("predict", tmp_path / "model", sources, "-o", predictions, "--format", "text")
    theirs = reference / "set" / "predictions_trained_docs.txt"
    assert predictions.read_bytes() == theirs.read_bytes()


@pytest.mark.shared
def test_slots_hold_what_the_release_recorded(
    reference: Path, sources: Path, tmp_path: Path
) -> None:
    """Every code's tokens and scores, up to its end."""
    import_reference(reference, "set", tmp_path / "model")
    run("predict", tmp_path / "model", sources, "-o", tmp_path / "p.jsonl", "--slots")
    lines = read_jsonl(tmp_path / "p.jsonl")
    with np.load(reference / "set" / "greedy_trained.npz") as file:
        greedy = dict(file)
    names = [
        line.split("\t")[0]
        for line in (reference / "data" / "vocab_full.txt").read_text().split("\n")
    ]
    documents = recorded(reference)
    for row, index in enumerate(greedy["original_indices"]):
        spelt = [*names[:400], *documents[index]["oov_list"]]
        for slot in lines[index]["slots"]:
            count = len(slot["tokens"])
            ids = greedy["tokens"][row, slot["code"], :count]
            for token, id in zip(slot["tokens"], ids, strict=True):
                assert id == 1 or token == spelt[id]  # 1 is `<unk>`, which is replaced
            scores = greedy["scores"][row, slot["code"], :count]
            assert slot["probabilities"] == pytest.approx(scores, rel=1e-4)


@pytest.mark.shared
def test_a_one2seq_checkpoint(reference: Path, sources: Path, tmp_path: Path) -> None:
    """The release recorded its distributions along the targets; the first is a prediction's."""
    output = import_reference(reference, "seq", tmp_path / "model")
    assert "One2Seq, 231,425 weights, 400 words" in output
    model = load_model(tmp_path / "model")
    assert model.config["system"] == "transformer"
    with (
        np.load(reference / "seq" / "trained.npz") as recorded_arrays,
        np.load(reference / "seq" / "batch.npz") as targets,
    ):
        record, order = dict(recorded_arrays), targets["original_indices"].tolist()
    documents = list(read(sources))
    batch = collate(
        [model.vocabulary.encode(documents[index]) for index in order], vocabulary_size=400
    )
    inputs = torch.tensor(record["decoder_input"])[:, None]  # (B, 1, T)
    with torch.no_grad():
        mixture = model.network.decode(
            model.network.encode(batch), inputs, torch.ones_like(inputs) > 0
        )
        result = mixture.distribution(record["dist"].shape[2]).view(record["dist"].shape)
    np.testing.assert_allclose(result.numpy(), record["dist"], atol=2e-6)

    run("predict", tmp_path / "model", sources, "-o", tmp_path / "p.jsonl", "--slots")
    lines = read_jsonl(tmp_path / "p.jsonl")
    for row, index in enumerate(order):
        first = lines[index]["slots"][0]
        assert first["probabilities"][0] == pytest.approx(record["dist"][row, 0].max(), rel=1e-4)
        texts = [slot["text"] for slot in lines[index]["slots"] if slot["text"]]
        assert [phrase["text"] for phrase in lines[index]["keyphrases"]] == texts


@pytest.mark.shared
def test_an_existing_folder_is_kept(reference: Path, tmp_path: Path) -> None:
    import_reference(reference, "set", tmp_path / "model")
    with pytest.raises(ConfigError, match="exists already; pass --overwrite"):
        import_reference(reference, "seq", tmp_path / "model")
    import_reference(reference, "seq", tmp_path / "model", "--heads", "4", "--overwrite")
    assert json.loads((tmp_path / "model" / "config.json").read_text())["network"] == "transformer"


@pytest.mark.shared
@pytest.mark.parametrize("heads", ["7", "128"])
def test_an_invalid_number_of_heads_is_an_error(
    reference: Path, tmp_path: Path, heads: str
) -> None:
    with pytest.raises(ConfigError, match=f"heads is {heads}; heads must divide the width"):
        import_reference(reference, "set", tmp_path / "model", "--heads", heads)
    assert not list(tmp_path.iterdir())


@pytest.mark.shared
def test_swapped_files_are_reported(reference: Path, tmp_path: Path) -> None:
    checkpoint = reference / "checkpoint"
    model, vocabulary = checkpoint / "set_best_model.pt", checkpoint / "vocab.pt"
    out = tmp_path / "model"
    for first, second, message in (
        (vocabulary, vocabulary, "vocab.pt: contains more than weights; pass a best_model.pt"),
        (model, model, "set_best_model.pt: has no word2idx"),
        (tmp_path / "no.pt", vocabulary, "no.pt: cannot be read"),
        (model, reference / "README.md", "README.md: is not a file that torch saved"),
    ):
        with pytest.raises(DataError, match=message):
            run("import-checkpoint", first, "--vocab", second, "--heads", "4", out)
        assert not out.exists()


class Harmful:
    """What a pickle could do when it is loaded."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(self.path),)


def test_a_pickle_is_never_executed(tmp_path: Path) -> None:
    harm = tmp_path / "harm"
    with (tmp_path / "pickle.pt").open("wb") as file:
        pickle.dump({"weight": Harmful(harm)}, file, protocol=2)
    torch.save({"weight": Harmful(harm)}, tmp_path / "torch.pt")
    for name in ("pickle.pt", "torch.pt"):
        path = tmp_path / name
        with pytest.raises(DataError, match=name):
            run("import-checkpoint", path, "--vocab", path, "--heads", "4", tmp_path / "model")
    assert not harm.exists()
    assert not (tmp_path / "model").exists()
