"""What a run has to learn, and what it starts from."""

from pathlib import Path

import pytest
import torch

from one2set.config import Config
from one2set.data.corpus.corpus import Corpus
from one2set.data.corpus.prepare import Inputs, prepare
from one2set.data.specials import MASK
from one2set.errors import ConfigError
from one2set.model.folder import load_model
from one2set.model.settrans import SetTrans
from one2set.systems import SYSTEMS, System
from one2set.tasks import check_init
from one2set.training.loop import Step
from one2set.training.run import Run, RunMetadata
from tests.data.test_vocabulary import tokenizer
from tests.training.conftest import SETTINGS, Miniature

__all__ = ["tokenizer"]  # a fixture


def test_a_system_that_starts_from_another_says_how_to_make_that(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    later = System("transformer", "sequence", "likelihood", "greedy", starts_from="transformer")
    monkeypatch.setitem(SYSTEMS, "later", later)
    check_init("transformer", init=None, corpus=Path("corpus"))
    check_init("later", init=Path("run"), corpus=Path("corpus"))
    with pytest.raises(ConfigError, match="one2set train corpus --system transformer --output RUN"):
        check_init("later", init=None, corpus=Path("corpus"))


def test_a_run_can_start_from_another_ones_model(corpus_folder: Path, tmp_path: Path) -> None:
    miniature = Miniature(Corpus(corpus_folder))
    before = miniature.run(tmp_path / "before", "limits.steps=2")
    miniature.train(before)
    saved = load_model(before.model)
    assert saved.config["system"] == "settrans"

    def start(init: Path, *settings: str, system: str = "settrans") -> torch.nn.Module:
        metadata = RunMetadata.new(system=system, seed=9, corpus=miniature.corpus, init=init)
        config = Config.scale("tiny").override([*SETTINGS, *settings])
        return miniature.task(Run(tmp_path / "run", metadata, config)).objective

    for init in (before.folder, before.model):
        network = start(init).network
        assert isinstance(network, SetTrans)
        for name, tensor in saved.network.state_dict().items():
            assert torch.equal(network.state_dict()[name], tensor), name
    with pytest.raises(ConfigError, match=r"its codes\.weight is \(8, 16\), .* is missing"):
        start(before.folder, system="transformer")
    with pytest.raises(ConfigError, match=r"is \(8, 16\), but this run's is \(4, 16\)"):
        start(before.folder, "model.num_codes=4")


def test_phrases_are_taken_out_alike_in_any_number_of_micro_batches(
    corpus_folder: Path, tmp_path: Path
) -> None:
    miniature = Miniature(Corpus(corpus_folder))

    def losses(*settings: str) -> list[float]:
        quick = ("limits.steps=3", "validation.every=9", "model.dropout=0")
        run = miniature.run(tmp_path / "-".join(settings), *quick, *settings)
        return [e.losses["loss"] for e in miniature.train(run) if isinstance(e, Step)]

    dropped = losses("train.keyphrase_dropout=0.5", "train.micro_batches=1")
    assert losses("train.keyphrase_dropout=0.5", "train.micro_batches=3") == pytest.approx(dropped)
    assert losses("train.micro_batches=1")[0] != pytest.approx(dropped[0])


def test_each_step_takes_out_phrases_of_its_own(corpus_folder: Path, tmp_path: Path) -> None:
    miniature = Miniature(Corpus(corpus_folder))
    task = miniature.task(miniature.run(tmp_path / "run"))
    assert task.examples_at_step(3) is task.train
    task = miniature.task(miniature.run(tmp_path / "run", "train.keyphrase_dropout=0.5"))
    sources = [[tuple(one.source) for one in task.examples_at_step(step)] for step in (3, 3, 4)]
    assert sources[0] == sources[1] != sources[2]
    assert any(MASK in source for source in sources[0])
    assert len(sources[0]) == len(task.train)


def test_phrases_can_be_told_anew_among_words_only(tokenizer: Path, tmp_path: Path) -> None:
    documents = tmp_path / "documents.jsonl"
    documents.write_text('{"title": "on wasps", "abstract": "they sting", "keyphrases": ["wasp"]}')
    prepare(tmp_path / "corpus", Inputs(train=[str(documents)]), tokenizer=tokenizer)
    miniature = Miniature(Corpus(tmp_path / "corpus"))
    with pytest.raises(ConfigError, match=r"keyphrase_dropout is 0\.2, .* word pieces, .* 0"):
        miniature.task(miniature.run(tmp_path / "run", "train.keyphrase_dropout=0.2"))
