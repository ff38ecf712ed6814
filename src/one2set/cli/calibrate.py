"""`one2set calibrate`: fit a model's scores and thresholds to documents with known keyphrases."""

from itertools import chain, tee
from pathlib import Path
from typing import Annotated

import typer

from one2set.cli.console import err, warn_about_skipped
from one2set.cli.options import (
    BatchTokensOption,
    DeviceOption,
    FieldOption,
    MaxLineOption,
    NoVerifyOption,
    OnErrorOption,
    OwnModelArgument,
    ThreadsOption,
)
from one2set.cli.progress import show_progress
from one2set.data.reading.streams import MAX_LINE
from one2set.errors import ConfigError, DataError, missing_extra

_ENOUGH = 80  # documents; with 80 of Inspec, the model was much better on the others


def calibrate(
    model: OwnModelArgument,
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="INPUT",
            help="Documents with keyphrases, not used for training, in any readable format.",
        ),
    ],
    diagram: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Plot a reliability diagram."),
    ] = None,
    field: FieldOption = [],  # noqa: B006
    on_error: OnErrorOption = "stop",
    max_line: MaxLineOption = MAX_LINE,
    batch_tokens: BatchTokensOption = 4096,
    threads: ThreadsOption = 0,
    device: DeviceOption = "auto",
    no_verify: NoVerifyOption = False,
) -> None:
    """Fit a model's scores and thresholds to documents with known keyphrases.

    one2set calibrate my-model validation.jsonl

    Writes calibration.json into the model folder: the biases on ∅, the
    regressions that compute scores, the penalties of overlapping phrases, and
    the thresholds. The printed figures are cross-validated: tuned on one half
    of the documents, measured on the other.
    """
    try:
        import scipy.optimize  # noqa: F401  (else its lack is noticed after the prediction)

        from one2set.extraction.knowledge import Knowledge
        from one2set.keyphrases import reliability, tuning
        from one2set.keyphrases.calibration import FILE as CALIBRATION
        from one2set.keyphrases.phrase_speller import PhraseSpeller
        from one2set.model.manifest import check_manifest
        from one2set.model.paths import find_model_folder, is_bundled
        from one2set.prediction.loading import load_predictor
        from one2set.prediction.prediction import NO_NULL
    except ImportError:
        raise missing_extra("scipy", extra="train", purpose="Calibrating a model") from None
    from one2set.cli.tables import print_calibration
    from one2set.data.reading.readers import read
    from one2set.data.reading.records import Fields
    from one2set.data.reading.streams import ErrorPolicy

    folder = find_model_folder(model)
    if is_bundled(folder):
        raise ConfigError(
            "the included models cannot be changed; calibrate a copy: one2set export default "
            "--output my-model, or one2set learn light --documents INPUT --output my-model"
        )
    if diagram is not None:
        reliability.check_diagram(diagram)
    if not no_verify:
        check_manifest(folder, ignore={CALIBRATION})
    engine = load_predictor(folder, device=device, batch_tokens=batch_tokens, threads=threads)
    knowledge = Knowledge.load(folder)
    labelled = []
    with (
        ErrorPolicy(on_error, max_line=max_line) as errors,
        show_progress("Predicting", total=None) as display,
    ):
        documents = chain.from_iterable(
            read(path, fields=Fields.from_options(field), errors=errors) for path in inputs
        )
        ours, the_engines = tee(documents)
        predictions = engine.predict(the_engines, null_bias=NO_NULL, project=knowledge.project)
        for number, (document, prediction) in enumerate(zip(ours, predictions, strict=True), 1):
            document.expect_keyphrases()
            labelled.append(tuning.label_candidates(document, prediction, knowledge))
            display.update(number, f"{number:,} documents")
    if sum(bool(document.candidates) for document in labelled) < 2:
        raise DataError(
            "the model generates phrases for fewer than 2 documents",
            fix="pass more documents, or a model that was trained for longer",
        )
    if len(labelled) < _ENOUGH:
        err.print(
            f"warning: only {len(labelled)} documents; the model may become worse. "
            f"Use at least {_ENOUGH}.",
            soft_wrap=True,
        )
    speller = PhraseSpeller(knowledge.phrase_list.spellings)
    with show_progress("Fitting", total=3) as display:
        display.update(0, "to the first half")
        first = reliability.validate_fold(labelled, 0, speller)
        display.update(1, "to the second half")
        check = first.join(reliability.validate_fold(labelled, 1, speller))
        display.update(2, "to all documents")
        calibration = tuning.tune(labelled)
    calibration.save(folder)
    print_calibration(calibration, check)
    if diagram is not None:
        reliability.draw_reliability_diagram(check.f1, diagram)
        err.print(f"{diagram}: drawn", soft_wrap=True)
    err.print(f"{folder}: calibrated on {len(labelled):,} documents", soft_wrap=True)
    warn_about_skipped(errors.skipped)
