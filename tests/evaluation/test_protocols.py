import pytest

from one2set.errors import ConfigError
from one2set.evaluation.protocols import PROTOCOLS, YE2021, get_protocol


def test_each_protocol_differs_from_the_authors_by_one_choice() -> None:
    for protocol in PROTOCOLS.values():
        pairs = zip(protocol.choices, YE2021.choices, strict=True)
        differences = sum(choice != authors for choice, authors in pairs)
        assert differences == (protocol is not YE2021)


def test_names_join_choices() -> None:
    joined = get_protocol("with-gold+unpadded+mean-f1")
    assert joined.name == "with-gold+unpadded+mean-f1"
    assert (joined.average, joined.padded, joined.skip_without_gold) == ("mean-f1", False, True)
    assert get_protocol("ye2021") == YE2021
    assert get_protocol("ye2021+micro").average == "micro"


@pytest.mark.parametrize("name", ["", "macro", "micro+", "micro+mean-f1", "mean-f1+micro"])
def test_unknown_names_and_contradictions_are_errors(name: str) -> None:
    with pytest.raises(ConfigError, match="protocol"):
        get_protocol(name)
