"""What a run has to learn, and what it starts from."""

from pathlib import Path

import pytest
import torch

from one2set.config import Config
from one2set.data.corpus.corpus import Corpus
from one2set.errors import ConfigError
from one2set.model.folder import load_model
from one2set.model.settrans import SetTrans
from one2set.systems import SYSTEMS, System
from one2set.tasks import check_init
from one2set.training.run import Run, RunMetadata
from tests.training.conftest import SETTINGS, Miniature


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
