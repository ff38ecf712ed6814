"""`one2set prepare`: from files to a corpus."""

import time
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from one2set.cli.console import err, warn_about_skipped
from one2set.cli.options import (
    FieldOption,
    MaxLineOption,
    OnErrorOption,
    OverwriteOption,
    computation_option,
    input_option,
    output_option,
    parse_oversample,
)
from one2set.cli.progress import show_progress
from one2set.cores import count_cores
from one2set.data.reading.streams import MAX_LINE
from one2set.errors import ConfigError

_data = partial(typer.Option, rich_help_panel="Data")
_filter = partial(typer.Option, rich_help_panel="Filters of the training data")
_vocabulary = partial(typer.Option, rich_help_panel="Vocabulary")


def prepare(
    output: Annotated[Path, typer.Argument(metavar="OUT", help="The corpus folder to write.")],
    train: Annotated[
        list[str], _data(metavar="FILE", help="Training data in any readable format. Repeatable.")
    ],
    valid: Annotated[list[str], _data(metavar="FILE", help="Validation data. Repeatable.")] = [],  # noqa: B006
    hold_out: Annotated[
        float,
        _data(
            metavar="SHARE",
            help="Without --valid: use this share of the training data for validation.",
        ),
    ] = 0.0,
    test: Annotated[
        list[str],
        _data(metavar="[NAME=]FILE", help="A test set; it becomes a split of its own. Repeatable."),
    ] = [],  # noqa: B006
    exclude: Annotated[
        list[str],
        _data(
            metavar="FILE",
            help="Drop training documents whose title occurs in this file, as is always done for "
            "the validation and test sets. Repeatable.",
        ),
    ] = [],  # noqa: B006
    oversample: Annotated[
        list[str],
        _data(
            metavar="FILE=N",
            help="Draw the documents of this training file N times per epoch. Repeatable.",
        ),
    ] = [],  # noqa: B006
    max_source_words: Annotated[
        int, _filter(metavar="N", help="Drop documents with more words, or word pieces.")
    ] = 400,
    max_phrases: Annotated[
        int, _filter(metavar="N", help="Drop documents with more keyphrases.")
    ] = 13,
    max_phrase_words: Annotated[
        int, _filter(metavar="N", help="Drop keyphrases with more words, or word pieces.")
    ] = 5,
    vocabulary_size: Annotated[
        int | None,
        _vocabulary(
            metavar="N",
            help="Keep the N most frequent words, special tokens included. Default: 50002.",
            show_default=False,
        ),
    ] = None,
    tokenizer: Annotated[
        Path | None,
        _vocabulary(metavar="FILE", help="Use the word pieces of a Hugging Face tokenizer.json."),
    ] = None,
    vocabulary: Annotated[
        str | None,
        _vocabulary(
            metavar="MODEL",
            help="Use the vocabulary of a model, to train it further: its folder, or default.",
        ),
    ] = None,
    field: FieldOption = [],  # noqa: B006
    on_error: OnErrorOption = "stop",
    max_line: MaxLineOption = MAX_LINE,
    report: Annotated[
        Path | None,
        input_option(
            metavar="FILE",
            help="List skipped records here. Default: OUT/skipped.jsonl.",
            show_default=False,
        ),
    ] = None,
    overwrite: OverwriteOption = False,
    as_json: Annotated[
        bool,
        output_option("--json", help="Print the manifest as JSON."),
    ] = False,
    workers: Annotated[
        int | None,
        computation_option(
            metavar="N", help="Number of processes. Default: one per core.", show_default=False
        ),
    ] = None,
) -> None:
    """Prepare documents with keyphrases for training.

    one2set prepare my-corpus --train train.jsonl --valid valid.jsonl
    one2set prepare my-corpus --train papers.csv --hold-out 0.1

    Reads JSON, CSV, Parquet, BibTeX, RIS, pairs of text files (x_src.txt,
    x_trg.txt) and more, also compressed or from standard input (-). Removes
    duplicates, splits keyphrases into present and absent ones, and writes a
    vocabulary and a manifest.
    """
    from pydantic import ValidationError

    from one2set.data.corpus.corpus import TRAIN
    from one2set.data.corpus.prepare import Inputs
    from one2set.data.corpus.prepare import prepare as write_corpus
    from one2set.data.corpus.selection import Filters
    from one2set.data.reading.records import Fields
    from one2set.data.reading.streams import ErrorPolicy
    from one2set.data.vocabulary import WordVocabulary, vocabulary_file
    from one2set.model.paths import find_model_folder
    from one2set.prediction.loading import load_model_vocabulary

    options = {
        "--vocabulary": vocabulary,
        "--tokenizer": tokenizer,
        "--vocabulary-size": vocabulary_size,
    }
    if len(given := [name for name, value in options.items() if value is not None]) > 1:
        raise ConfigError(f"{' and '.join(given)} cannot be used together; pass only one")
    try:
        filters = Filters(
            max_source_words=max_source_words,
            max_phrases=max_phrases,
            max_phrase_words=max_phrase_words,
            hold_out=hold_out,
            **({} if vocabulary_size is None else {"vocabulary_size": vocabulary_size}),
        )
    except ValidationError as error:
        first = error.errors()[0]
        option = str(first["loc"][0]).replace("_", "-")
        message = f"{first['msg'][0].lower()}{first['msg'][1:]}"
        raise ConfigError(f"--{option} is {first['input']}; {message}") from None
    tests = dict(named := [_named(path) for path in test])
    if len(tests) < len(named):
        names = ", ".join(name for name, _ in named)
        raise ConfigError(f"two test sets have the same name ({names}); pass --test NAME=FILE")
    repeats = dict(map(parse_oversample, oversample))
    inputs = Inputs(train=train, valid=valid, tests=tests, exclude=exclude, oversample=repeats)
    words = None
    if vocabulary is not None:
        folder = find_model_folder(vocabulary)
        model_vocabulary = load_model_vocabulary(folder)
        if isinstance(model_vocabulary, WordVocabulary):
            words = model_vocabulary
        else:
            tokenizer = vocabulary_file(folder)
    started = time.perf_counter()
    with show_progress("Preparing", total=inputs.bytes() or None) as display:

        def progress(bytes_read: int, documents: int) -> None:
            rate = documents / (time.perf_counter() - started)
            display.update(bytes_read, f"{documents:,} documents, {rate:,.0f}/s")

        manifest = write_corpus(
            output,
            inputs,
            filters=filters,
            tokenizer=tokenizer,
            model_vocabulary=words,
            fields=Fields.from_options(field),
            errors=ErrorPolicy(on_error, report, max_line=max_line),
            workers=count_cores() if workers is None else workers,
            overwrite=overwrite,
            progress=progress,
        )
    if as_json:
        typer.echo(manifest.model_dump_json(indent=2))
        return
    from one2set.cli.tables import print_manifest

    print_manifest(manifest)
    if not manifest.splits[TRAIN].documents:
        err.print(
            "no training document is left; if the documents have keyphrases, name their field, "
            "for example --field keyphrases=tags",
            style="yellow",
            soft_wrap=True,
        )
    warn_about_skipped(manifest.skipped, where=f"; see {report or output / 'skipped.jsonl'}")
    seconds = time.perf_counter() - started
    documents = sum(split.read for split in manifest.splits.values())
    err.print(
        f"{output}: {documents:,} documents in {seconds:,.1f} s ({documents / seconds:,.0f}/s)"
    )


def _named(path: str) -> tuple[str, str]:
    """NAME=FILE, or FILE, which is named after its stem."""
    name, equals, file = path.partition("=")
    return (name, file) if equals else (Path(path).name.split(".")[0], path)
