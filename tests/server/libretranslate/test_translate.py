"""`/translate` and `/detect`: shapes of answers, languages, and what comes back unchanged."""

from __future__ import annotations

import pytest

from tests.server.libretranslate.serving import Client, error_of


def test_a_text_gives_a_text_and_a_list_a_list(client: Client) -> None:
    assert client.translate("Hello").json() == {"translatedText": "Hello>es"}
    assert client.translate(["Hello", "World"]).json() == {"translatedText": ["Hello>es", "World>es"]}


def test_auto_says_what_it_detected(client: Client) -> None:
    detected = {"confidence": 100.0, "language": "en"}
    assert client.translate("the plant", "auto").json()["detectedLanguage"] == detected
    assert client.translate(["the plant", "hello"], "AUTO").json()["detectedLanguage"] == [detected, detected]
    assert "detectedLanguage" not in client.translate("the plant", "en").json()


def test_auto_reads_the_text_of_html_not_its_tags(client: Client) -> None:
    client.translate('<la class="planta">hello &amp; the</la>', "auto", format="html")
    assert client.backend.jobs[0] == ("detect", "", {"texts": [" hello & the "]})


def test_auto_without_evidence_has_no_confidence() -> None:
    client = Client("de>es", "es>de")
    assert client.translate("xyzzy", "auto", "es").json() == {
        "translatedText": "xyzzy>es",
        "detectedLanguage": {"confidence": 0.0, "language": "de"},
    }


def test_alternatives_are_distinct_and_not_empty(client: Client) -> None:
    assert client.translate("Hello", alternatives=2).json()["alternatives"] == ["Hello>es1", "Hello>es2"]
    both = client.translate(["Hello", "Bye"], alternatives=1).json()
    assert both["alternatives"] == [["Hello>es1"], ["Bye>es1"]]


def test_html_has_no_alternatives(client: Client) -> None:
    answer = client.translate("<b>Hello</b>", alternatives=2, format="html").json()
    assert answer == {"translatedText": "<b>Hello</b>>es", "alternatives": []}
    assert client.backend.jobs[-1][2] == {"texts": ["<b>Hello</b>"], "format": "html", "alternatives": 0}


@pytest.mark.parametrize("value", [None, 0, "0", -1, False])
def test_no_alternatives(value: object, client: Client) -> None:
    assert client.translate("Hello", alternatives=value).json() == {"translatedText": "Hello>es"}


@pytest.mark.parametrize(("value", "count"), [("2", 2), (2.0, 2), (True, 1), ("1.0", 1)])
def test_number_of_alternatives_in_any_form(value: object, count: int, client: Client) -> None:
    assert len(client.translate("Hello", alternatives=value).json()["alternatives"]) == count


@pytest.mark.parametrize("text", ["😀 🎉🇪🇸 ☀️", "12:30", "...", " \n", "👩‍👩‍👧"])
def test_text_without_words_comes_back_unchanged(text: str, client: Client) -> None:
    assert client.translate(text).json() == {"translatedText": text}
    assert client.translate([text, "Hello"]).json() == {"translatedText": [text, "Hello>es"]}
    detected = client.translate(text, "auto", alternatives=1).json()
    assert detected == {
        "translatedText": text,
        "detectedLanguage": {"confidence": 0.0, "language": "en"},
        "alternatives": [],
    }


def test_empty_texts_of_a_list_stay_empty(client: Client) -> None:
    assert client.translate(["", "Hello", ""]).json() == {"translatedText": ["", "Hello>es", ""]}


def test_a_third_language_is_in_between_where_no_model_is_direct(client: Client) -> None:
    answer = client.translate("Hallo", "de", "es", alternatives=1).json()
    assert answer == {"translatedText": "Hallo>en>es", "alternatives": ["Hallo>en>es1"]}
    assert [(model, job["alternatives"]) for _, model, job in client.backend.jobs] == [("de>en", 0), ("en>es", 1)]


def test_the_same_language_comes_back_unchanged(client: Client) -> None:
    assert client.translate("Hello", "en", "en").json() == {"translatedText": "Hello"}
    assert client.translate("la planta", "auto", "es").json()["translatedText"] == "la planta"


def test_a_pair_that_is_not_served_names_both_languages(client: Client) -> None:
    message = "German (de) is not available as a target language from English (en)"
    assert client.error(400, "Hello", "en", "de") == message


@pytest.mark.parametrize(
    ("written", "used"), [("PT-BR", "pt-BR"), ("pb", "pt-BR"), ("zh", "zh-Hans"), ("ZH_hans", "zh-Hans")]
)
def test_codes_in_any_case_and_by_alias(written: str, used: str) -> None:
    client = Client("en>pt-BR", "en>zh")
    assert client.translate("Hello", "EN", written).status_code == 200
    languages = {each["code"]: each["name"] for each in client("GET", "/languages").json()}
    assert languages[used] in ("Portuguese (Brazil)", "Chinese")


@pytest.mark.parametrize(
    ("served", "source", "target", "model"),
    [
        (["en-US>es-ES"], "en", "es", "en-US>es-ES"),  # of a TMX
        (["en-US>es-ES"], "auto", "es", "en-US>es-ES"),
        (["en>es"], "en-US", "es-MX", "en>es"),
        (["en-US>es", "en-GB>es"], "en-GB", "es", "en-GB>es"),
        (["en-US>es", "en>fr"], "en", "es", "en-US>es"),
        (["zh-Hans>en", "zh-Hant>en"], "zh-TW", "en", "zh-Hant>en"),
    ],
)
def test_languages_match_by_bcp_47(served: list[str], source: str, target: str, model: str) -> None:
    client = Client(*served)
    answer = client.translate("the plant", source, target)
    assert answer.status_code == 200, answer.json()
    assert [name for kind, name, _ in client.backend.jobs if kind == "translate"] == [model]


@pytest.mark.parametrize("code", ["fr", "e", "", "zh-Hans"])
def test_other_languages_do_not(code: str) -> None:
    client = Client("en-US>zh-Hant")
    assert client.translate("Hello", "en", code).status_code == 400


def test_languages_are_sorted_and_have_their_targets() -> None:
    assert Client("es>en", "en>xq", "da>en")("GET", "/languages").json() == [
        {"code": "en", "name": "English", "targets": ["en", "xq"]},
        {"code": "da", "name": "Danish", "targets": ["da", "en", "xq"]},
        {"code": "es", "name": "Spanish", "targets": ["en", "es", "xq"]},
        {"code": "xq", "name": "xq", "targets": ["xq"]},
    ]


def test_detect_takes_a_text_or_a_list(client: Client) -> None:
    mixed = client("POST", "/detect", json={"q": ["hello the", "hola"]}).json()
    assert mixed == [{"confidence": 66.7, "language": "en"}, {"confidence": 33.3, "language": "es"}]
    assert client("POST", "/detect", json={"q": "xyzzy"}).json() == [{"confidence": 0.0, "language": "en"}]
    assert error_of(client("POST", "/detect", json={}), 400) == "Invalid request: missing q parameter"


@pytest.mark.parametrize("reference", ["&#" + "1" * 5_000, "&#x" + "f" * 5_000 + ";", "&#000065;"])
def test_references_to_no_character_are_no_text(reference: str, client: Client) -> None:
    answer = client.translate(f"<p>la planta {reference}</p>", "auto", "en", format="html")
    assert (answer.status_code, answer.json()["detectedLanguage"]["language"]) == (200, "es"), answer.json()


def test_detect_names_served_languages_only() -> None:
    answer = Client("en>es")("POST", "/detect", json={"q": "hallo die hello"}).json()
    assert [each["language"] for each in answer] == ["en"]
