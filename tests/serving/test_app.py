"""The answers are those of the library, for any number of clients."""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from one2set.data.document import Document
from one2set.data.reading.records import document_from_text
from one2set.keyphrases.exploration import DIAL
from one2set.keyphrases.generator import KeyphraseGenerator
from one2set.keyphrases.results import Keyphrase
from one2set.serving.app import create_app
from one2set.serving.limits import Access
from tests.data.test_text import HOSTILE
from tests.keyphrases.test_language import FOREIGN
from tests.serving.running import URL

KEYPHRASES, EXPLORE = "/v1/keyphrases", "/v1/explore"
JSON = {"content-type": "application/json"}


def assert_same(answer: list[dict[str, Any]], keyphrases: list[Keyphrase]) -> None:
    """The library's keyphrases, with four digits of the score."""
    keys = [(entry["text"], entry["present"], entry["spans"]) for entry in answer]
    assert keys == [
        (keyphrase.text, keyphrase.present, [list(span) for span in keyphrase.spans])
        for keyphrase in keyphrases
    ]
    assert [entry["score"] for entry in answer] == pytest.approx(
        [keyphrase.score for keyphrase in keyphrases], abs=0.00011
    )


def test_one_document_has_the_keyphrases_of_the_library(
    client: TestClient, generator: KeyphraseGenerator, documents: list[Document]
) -> None:
    text = documents[0].text
    response = client.post(KEYPHRASES, json={"documents": [text]})
    assert response.status_code == 200
    (answer,) = response.json()["documents"]
    assert answer["id"] == "text"
    assert answer["notices"] == []
    assert answer["keyphrases"]
    assert_same(answer["keyphrases"], generator.generate(text))


def test_many_documents_in_any_form(
    client: TestClient, generator: KeyphraseGenerator, documents: list[Document]
) -> None:
    given = [
        {"id": document.id, "title": document.title, "text": document.abstract}
        if number % 2
        else document.text
        for number, document in enumerate(documents[:9])
    ]
    answers = client.post(KEYPHRASES, json={"documents": given}).json()["documents"]
    for number, (answer, document) in enumerate(zip(answers, documents[:9], strict=True)):
        assert answer["id"] == (document.id if number % 2 else f"text {number + 1}")
        ((_, result),) = generator.stream([document])
        assert_same(answer["keyphrases"], result)


@pytest.mark.parametrize(
    "options",
    [{"top": 2}, {"min_score": 0.45}, {"only": "present"}, {"only": "absent", "more": 2.5}],
)
def test_options_are_those_of_the_command_line(
    client: TestClient,
    generator: KeyphraseGenerator,
    documents: list[Document],
    options: dict[str, Any],
) -> None:
    texts = [document.text for document in documents[:6]]
    answers = client.post(KEYPHRASES, json={"documents": texts, **options}).json()["documents"]
    usual = client.post(KEYPHRASES, json={"documents": texts}).json()["documents"]
    assert answers != usual
    for answer, text in zip(answers, texts, strict=True):
        assert_same(answer["keyphrases"], generator.generate(text, **options))


def test_concurrent_clients_get_their_own_answers(
    client: TestClient, generator: KeyphraseGenerator, documents: list[Document]
) -> None:
    """Several options, one and many documents, all mixed."""
    wishes: list[dict[str, Any]] = [{}, {"more": 1.0}, {"top": 1}, {}]

    def ask(number: int) -> None:
        options = wishes[number % 4]
        chosen = [documents[(number * 3 + n) % 8] for n in range(1 + number % 3)]
        body = {"documents": [keyphrase.text for keyphrase in chosen], **options}
        answers = client.post(KEYPHRASES, json=body).json()["documents"]
        for answer, document in zip(answers, chosen, strict=True):
            assert_same(answer["keyphrases"], expected[document.id, number % 4])

    expected = {
        (document.id, n): generator.generate(document.text, **options)
        for n, options in enumerate(wishes)
        for document in documents[:8]
    }
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(ask, range(24)))


def test_explore_has_every_position_and_code(
    client: TestClient, generator: KeyphraseGenerator, documents: list[Document]
) -> None:
    text = documents[3].text
    answer = client.post(EXPLORE, json={"text": text}).json()
    assert [position["more"] for position in answer["dial"]] == list(DIAL)
    for position in answer["dial"]:
        assert_same(position["keyphrases"], generator.generate(text, more=position["more"]))
    (codes,) = answer["passages"]
    assert [code["code"] for code in codes] == list(range(8))
    generated = {code["stems"] for code in codes if code["generates"]}
    widest = {keyphrase["stems"] for keyphrase in answer["dial"][-1]["keyphrases"]}
    assert widest & generated, "codes say some of them"
    assert widest - generated, "others are known"
    assert answer["title"] == documents[3].title


@pytest.mark.parametrize("text", HOSTILE.values(), ids=list(HOSTILE))
def test_hostile_texts_are_answered(
    client: TestClient, generator: KeyphraseGenerator, text: str
) -> None:
    body = json.dumps({"documents": [text], "more": 3})  # in ASCII, which can write all of them
    response = client.post(KEYPHRASES, content=body, headers=JSON)
    try:
        text.encode()
    except UnicodeEncodeError:
        assert response.status_code == 422
        return
    ((_, result),) = generator.stream([document_from_text(text)], more=3)
    assert_same(response.json()["documents"][0]["keyphrases"], result)
    assert client.post(EXPLORE, json={"text": text}).status_code == 200


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("", "required"),
        ("{", "JSON"),
        ("[" * 100_000, "cannot be read"),
        ('{"documents": ["a"], "top": ' + "1" * 5_000 + "}", "cannot be read"),
        ("{}", "documents: is missing"),
        ('{"documents": []}', "documents: is empty"),
        ('{"documents": "a text"}', "documents: expected a list"),
        ('{"documents": [7]}', "documents.0: expected a text or an object with fields"),
        ("[]", "the body: expected an object with fields"),
        ('{"documents": [{"title": "no text"}]}', "documents.0.text: is missing"),
        ('{"documents": ["a"], "tops": 3}', "there is no field 'tops'"),
        ('{"documents": ["a"], "\\ud800": 3}', "there is no field"),
        ('{"documents": ["a"], "' + "x" * 5_000 + '": 3}', "there is no field 'xxx"),
        ('{"documents": ["a"], "top": -1}', "top: expected greater than or equal to 0"),
        ('{"documents": ["a"], "top": 1.5}', "top: expected a whole number"),
        ('{"documents": ["a"], "min_score": "x"}', "min_score: expected a number"),
        ('{"documents": ["a"], "min_score": NaN}', "finite"),
        ('{"documents": ["a"], "more": 1e999}', "more"),
        ('{"documents": ["a"], "only": "both"}', "only: expected 'present' or 'absent'"),
        ('{"documents": ["\\ud800"]}', "half of a character"),
        ('{"documents": [{"text": "a", "id": "\\udfff"}]}', "half of a character"),
        ('{"documents": [' + "1," * 200_000 + "1]}", "200,001 documents; at most 64"),
        ('{"documents": [1,2,3,4,5,6,7,8,9]}', "documents.0: expected a text"),
        ('{"documents": ["a"], ' + ",".join(f'"k{n}": 1' for n in range(50_000)) + "}", "'k0'"),
        (
            '{"documents": [{"text": "a", ' + ",".join(f'"k{n}": 1' for n in range(50_000)) + "}]}",
            "no field 'k0'",
        ),
    ],
)
def test_invalid_requests_are_explained(client: TestClient, body: str, message: str) -> None:
    response = client.post(KEYPHRASES, content=body, headers=JSON)
    assert response.status_code in (400, 422)
    assert message in response.json()["detail"]
    assert len(response.content) < 1_000


def test_unusual_texts_have_notices(client: TestClient) -> None:
    foreign = next(iter(FOREIGN.values()))
    texts = ["", "?!", foreign, "Words of a set are in a set of words."]
    answers = client.post(KEYPHRASES, json={"documents": texts}).json()["documents"]
    notices = [" ".join(answer["notices"]) for answer in answers]
    assert ["no words" in notice for notice in notices] == [True, True, False, False]
    assert ["English" in notice for notice in notices] == [False, False, True, False]
    assert answers[0]["keyphrases"] == []


def test_health_and_readiness_are_reported(generator: KeyphraseGenerator) -> None:
    app = create_app(generator)
    stopped = TestClient(app, base_url=URL)
    assert stopped.get("/healthz").status_code == 200
    assert stopped.get("/readyz").status_code == 503
    with stopped as client:
        assert client.get("/readyz").json() == {"status": "ready"}


def test_openapi_describes_every_path(client: TestClient) -> None:
    described = client.get("/openapi.json").json()
    assert described["openapi"].startswith("3.1")
    operation = described["paths"][KEYPHRASES]["post"]
    assert {"200", "401", "413", "422", "429", "503"} <= operation["responses"].keys()
    schemas = described["components"]["schemas"]
    for example in schemas["KeyphrasesRequest"]["examples"]:
        assert client.post(KEYPHRASES, json=example).status_code == 200
    (example,) = schemas["ExploreRequest"]["examples"]
    assert client.post(EXPLORE, json=example).status_code == 200
    answer = schemas["KeyphrasesAnswer"]["examples"][0]["documents"][0]
    text = schemas["KeyphrasesRequest"]["examples"][0]["documents"][0]
    for phrase in answer["keyphrases"]:
        assert {text[start:end] for start, end in phrase["spans"]} <= {phrase["text"]}


def test_other_origins_are_not_allowed_by_default(
    generator: KeyphraseGenerator, client: TestClient
) -> None:
    origin = {"Origin": "https://example.org"}
    asked = {**origin, "Access-Control-Request-Method": "POST"}
    body = {"documents": ["a"]}
    allowed = "access-control-allow-origin"
    assert allowed not in client.post(KEYPHRASES, json=body, headers=origin).headers
    assert allowed not in client.options(KEYPHRASES, headers=asked).headers
    access = Access(origins=("https://example.org",))
    with TestClient(create_app(generator, access=access), base_url=URL) as open_client:
        response = open_client.post(KEYPHRASES, json=body, headers=origin)
        assert response.headers[allowed] == "https://example.org"
        assert response.headers["access-control-expose-headers"] == "Retry-After"
        assert open_client.options(KEYPHRASES, headers=asked).status_code == 200


@pytest.mark.parametrize(
    "path", ["/../../etc/passwd", "/page/..%2f..%2fapp.py", "/static/app.py", "/redoc", "/v1"]
)
def test_unknown_paths_are_404(client: TestClient, path: str) -> None:
    assert client.get(path).status_code == 404
    assert json.loads(client.get(path).content) == {"detail": "Not Found"}


def test_documented_requests_work(client: TestClient) -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "serve.md"
    bodies = re.findall(r"-d '\n(.*?)'\n", page.read_text(encoding="utf-8"), re.DOTALL)
    assert len(bodies) == 2
    for body in bodies:
        assert client.post(KEYPHRASES, content=body, headers=JSON).status_code == 200
