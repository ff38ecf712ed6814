"""A damaged model folder gives one clear error, or a model that works; never a traceback."""

import os
import shutil
from collections.abc import Callable
from importlib.resources import files
from itertools import islice
from pathlib import Path

import pytest

from one2set.data.phrase_list import KnownPhrase, PhraseList
from one2set.data.reading.readers import read
from one2set.errors import DataError, One2SetError
from one2set.extraction.fit_knowledge import fit_knowledge
from one2set.keyphrases.calibration import Calibration, LogisticModel, SideCalibration
from one2set.keyphrases.generator import KeyphraseGenerator
from one2set.model.folder import load_heads, load_span_layer, save_model
from one2set.model.heads import Heads
from one2set.model.manifest import MANIFEST
from one2set.prediction.engine import Engine
from tests.keyphrases.damages import damages
from tests.networks import small_vocabulary, varied_settrans, word_model

SAMPLE = str(files("one2set.data") / "sample" / "documents.jsonl")
# One in this many damages is tried; benchmarks/faults.py tries all, which takes minutes.
_EVERY = int(os.environ.get("ONE2SET_DAMAGE_STEP", "5"))


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With all kinds of files that a model can have."""
    folder = word_model(tmp_path_factory.mktemp("model"))
    fit_knowledge(lambda: read(SAMPLE)).save(folder)
    half = SideCalibration(
        proposed=LogisticModel(-0.2, {"candidate_score": 0.4, "keyphrase_count": 0.1}),
        expected_gold_factor=1.0,
    )
    Calibration(half, half).save(folder)
    return folder


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A network with further heads."""
    folder = tmp_path_factory.mktemp("trained") / "model"
    phrases = PhraseList({("graph",): KnownPhrase("graphs", 20), ("set",): KnownPhrase("sets", 9)})
    heads = Heads(phrases, documents=9, width=16, span_width=6, phrase_width=4, dropout=0.0)
    save_model(folder, varied_settrans(), small_vocabulary(list(read(SAMPLE))), heads=heads)
    return folder


def generate(folder: Path) -> None:
    KeyphraseGenerator(folder, threads=1).generate("Sets of keyphrases, and sets of words.")


def predict(folder: Path) -> None:
    list(Engine.load(folder, device="cpu").predict(islice(read(SAMPLE), 1)))
    load_span_layer(folder)
    load_heads(folder)


# What is accepted may compute nonsense; torch warns of empty layers before they are refused.
@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore:Initializing zero-element tensors")
@pytest.mark.parametrize(("kind", "use"), [("exported", generate), ("trained", predict)])
def test_damage_is_reported_without_a_manifest(
    kind: str, use: Callable[[Path], None], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """The loaders must detect it, as they do for folders that were made by hand."""
    sound = tmp_path / "sound"
    shutil.copytree(request.getfixturevalue(kind), sound)
    (sound / MANIFEST).unlink()
    use(sound)
    tried = refused = 0
    for name, damage in islice(damages(sound), 0, None, _EVERY):
        folder = tmp_path / "damaged"
        shutil.copytree(sound, folder)
        damage(folder)
        tried += 1
        try:
            use(folder)
        except One2SetError:
            refused += 1
        except Exception as error:
            raise AssertionError(f"{name}: {error!r}") from error
        shutil.rmtree(folder)
    print(f"{kind}: {tried} damaged folders, {refused} refused, no traceback")
    assert refused > 20


def test_the_manifest_detects_damage(exported: Path, tmp_path: Path) -> None:
    """Whatever happens to a file that is read, it is that file which the error names."""
    for name, damage in islice(damages(exported), 0, None, 7):
        folder, file = tmp_path / "damaged", name.split()[0]
        if file == MANIFEST:
            continue
        shutil.copytree(exported, folder)
        before = (folder / file).read_bytes()
        damage(folder)
        if (folder / file).is_file() and (folder / file).read_bytes() == before:
            shutil.rmtree(folder)
            continue
        with pytest.raises(DataError) as caught:
            generate(folder)
        assert caught.value.path == str(folder / file), name
        shutil.rmtree(folder)
