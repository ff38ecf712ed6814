"""Scales, overrides, invalid settings, and the saved file."""

from pathlib import Path

import pytest
from pydantic import BaseModel

from one2set.errors import ConfigError
from one2set.training.config import SCALES, Config, fingerprint


def test_the_scale_paper_has_the_settings_of_the_paper() -> None:
    paper = Config.scale("paper")
    assert paper.model.model_dump() == {
        "vocabulary_size": 50_002,
        "output_size": 0,
        "width": 512,
        "heads": 8,
        "feed_forward": 2048,
        "encoder_layers": 6,
        "decoder_layers": 6,
        "dropout": 0.1,
        "embedding_width": 100,
        "hidden_width": 300,
        "encoder": "transformer",
        "num_codes": 20,
        "phrase_length": 6,
        "sequence_length": 60,
    }
    assert (paper.loss.assign_steps, paper.loss.null_weight_present) == (2, 0.2)
    assert (paper.loss.null_weight_absent, paper.loss.shared_encoding) == (0.1, False)
    assert (paper.train.learning_rate, paper.train.beta1, paper.train.beta2) == (1e-4, 0.9, 0.998)
    assert (paper.train.epsilon, paper.train.clip_norm) == (1e-9, 1.0)
    assert (paper.train.batch_documents, paper.train.batch_tokens) == (12, 0)
    assert (paper.train.schedule, paper.train.average_decay) == ("plateau", 0.0)
    assert (paper.train.pool_batches, paper.train.warmup_steps) == (1, 0)
    assert paper.validation.model_dump() == {
        "every": 8000,
        "first_epoch": 2,
        "documents": 0,
        "select_by": "loss",
        "patience": 4,
    }
    assert paper.limits.model_dump() == {"epochs": 20, "steps": 0, "documents": 0, "minutes": 0.0}


@pytest.mark.parametrize("name", SCALES)
def test_a_saved_configuration_is_read_back_with_its_help(name: str, tmp_path: Path) -> None:
    config = Config.scale(name)
    path = tmp_path / "config.toml"
    path.write_text(config.to_toml(), encoding="utf-8")
    assert Config.load(path) == config
    assert Config.scale(str(path)) == config
    assert "learning_rate = " in path.read_text()
    assert "# Maximum learning rate of Adam." in path.read_text()


def test_every_setting_has_help() -> None:
    for section in Config.model_fields.values():
        assert isinstance(section.annotation, type)
        assert issubclass(section.annotation, BaseModel)
        for name, field in section.annotation.model_fields.items():
            assert field.description, name


def test_override_changes_what_it_names_and_nothing_else() -> None:
    small = Config.scale("small")
    changed = small.override(["train.batch_documents=3", "train.schedule = cosine"])
    assert (changed.train.batch_documents, changed.train.schedule) == (3, "cosine")
    differing = {k for k, v in changed.flat().items() if v != small.flat()[k]}
    assert differing == {"train.batch_documents", "train.schedule"}


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("train.batch_document=1", "did you mean train.batch_documents?"),
        (
            "train.lr=1",
            r"there is no setting train.lr; expected one of train\.\w+, .*learning_rate",
        ),
        ("trian.batch_documents=1", "did you mean train.batch_documents?"),
        ("train.batch_documents=many", "train.batch_documents is 'many'; input should be a valid"),
        ("train.learning_rate=0", "train.learning_rate is 0; input should be greater than 0"),
        ("train.schedule=steep", "'plateau', 'constant', 'linear' or 'cosine'"),
        ("train.batch_documents=0", r"in \[train\] batch_documents and batch_tokens are both 0"),
        ("model.heads=3", r"in \[model\] width is 32, not a multiple of heads = 3"),
        ("limits.epochs=0", "are all 0; set one of them"),
        ("train", "expected section.name=value"),
    ],
)
def test_a_wrong_setting_is_reported(setting: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Config.scale("tiny").override([setting])


def test_an_invalid_scale_or_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"expected tiny, small, medium, paper, further or a \.toml file"
    ):
        Config.scale("huge")
    with pytest.raises(ConfigError, match="cannot be read"):
        Config.scale(str(tmp_path / "none.toml"))
    (tmp_path / "bad.toml").write_text("[train")
    with pytest.raises(ConfigError, match="is not valid TOML"):
        Config.scale(str(tmp_path / "bad.toml"))


def test_the_fingerprint_covers_fixed_settings() -> None:
    tiny = Config.scale("tiny")
    same = tiny.override(["limits.steps=5", "train.learning_rate=1e-5", "machine.threads=2"])
    other = tiny.override(["train.batch_documents=9"])
    assert fingerprint(same.fixed()) == fingerprint(tiny.fixed()) != fingerprint(other.fixed())
