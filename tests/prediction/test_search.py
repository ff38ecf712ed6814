"""Search settings are saved with a model."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from one2set.data.specials import SPECIALS
from one2set.data.vocabulary import WordVocabulary
from one2set.errors import ConfigError
from one2set.model.folder import load_model, save_model
from one2set.prediction.search import Generation, Search
from tests.model import tiny


@pytest.mark.parametrize(
    "generation",
    [
        Generation("phrase", 4),
        Generation("sequence", 9, Search(beam=7, length_penalty=0.5)),
        Generation("nested", 9, Search(exclusive=4)),
    ],
)
def test_generation_settings_are_saved_with_the_model(
    generation: Generation, tmp_path: Path
) -> None:
    words = WordVocabulary([*SPECIALS, *map(str, range(tiny.V))], size=tiny.V)
    save_model(tmp_path / "m", tiny.transformer(), words, {"generation": asdict(generation)})
    loaded = load_model(tmp_path / "m")
    assert Generation.from_model(loaded.network, loaded.config) == generation


def test_a_folder_without_generation_settings_is_a_transformer() -> None:
    sizes = {"model": {"phrase_length": 4, "sequence_length": 30}}
    for network, config, expected in (
        (tiny.settrans(), sizes, Generation("phrase", 4)),
        (tiny.transformer(), sizes, Generation("sequence", 30)),
        (tiny.settrans(), {}, Generation("phrase", 6)),
        (tiny.transformer(), {}, Generation("sequence", 60)),
    ):
        assert Generation.from_model(network, config) == expected


@pytest.mark.parametrize("exclusive", [0, 1])
@pytest.mark.parametrize("options", [{"beam": 2}, {"pool": True}])
def test_nested_rows_are_searched_greedily(exclusive: int, options: dict[str, Any]) -> None:
    """A beam would ignore their grammar, and a row could be one phrase of 140 words."""
    with pytest.raises(ConfigError, match=r"\(ExHiRD\) is searched greedily: pass --beam"):
        Generation("nested", 9, Search(exclusive=exclusive, **options))


@pytest.mark.parametrize("options", [{"beam": 2}, {"pool": True}])
def test_exclusive_search_is_greedy(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="exclusive search is greedy: pass --exclusive 0, or"):
        Generation("sequence", 9, Search(exclusive=1, **options))


@pytest.mark.parametrize("wrong", [{}, {"rows": "phrase"}, {"search": {"width": 3}}])
def test_invalid_generation_settings_are_an_error(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="the model's generation is"):
        Generation.from_model(tiny.transformer(), {"generation": wrong})
