"""The catalogues of the answer page: every language has every sentence, with the same places for values."""

import json
import re
from pathlib import Path

import pytest

from discreet.service import served
from discreet.service.writer import STATUSES

LANGUAGES = ("ar", "de", "es", "fr")
PAGE = served.answer_page().decode()
NEEDED = {"ar": {"one", "two", "few", "other"}}
"""The forms for numbers that sentences with a number must have; elsewhere one and other."""


def catalogue(language: str) -> dict[str, str | dict[str, str]]:
    text = served.served_files()[f"/static/words-{language}.js"].decode()
    return dict(json.loads(text.removeprefix("export default ")))


def said_in_the_page() -> dict[str, str]:
    """The English sentences that stand in the page itself, with code in backticks."""
    found = re.findall(r'<(\w+)[^>]* data-say="([^"]+)"[^>]*>(.*?)</\1>', PAGE)
    return {key: re.sub(r"</?code>", "`", text) for _, key, text in found}


def forms(entry: str | dict[str, str]) -> list[str]:
    return [entry] if isinstance(entry, str) else list(entry.values())


def places(text: str) -> set[str]:
    return set(re.findall(r"\{\w+\}|`[^`]+`", text))


ENGLISH = said_in_the_page() | catalogue("en")


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_every_sentence_and_no_other(language):
    assert set(catalogue(language)) == set(ENGLISH)


@pytest.mark.parametrize("language", LANGUAGES)
def test_translations_have_the_places_of_the_english_sentence(language):
    for key, entry in catalogue(language).items():
        expected = places(forms(ENGLISH[key])[-1])
        assert isinstance(entry, str) == isinstance(ENGLISH[key], str), key
        for text in forms(entry):
            assert places(text) == expected, (language, key)
            assert text.strip() == text != "", (language, key)
        if isinstance(entry, dict):
            assert set(entry) == NEEDED.get(language, {"one", "other"}), (language, key)


@pytest.mark.parametrize("language", LANGUAGES)
def test_nothing_was_left_in_english(language):
    same = {key for key, entry in catalogue(language).items() if entry == ENGLISH[key]}
    assert same == set()


def test_no_sentence_is_in_two_homes_or_in_none():
    assert set(said_in_the_page()).isdisjoint(catalogue("en"))
    assert len(re.findall("data-say=", PAGE)) == len(said_in_the_page())
    used = set()
    for path, data in served.served_files().items():
        if Path(path).name in {
            "answer.js",
            "asked.js",
            "bars.js",
            "budget.js",
            "explain.js",
            "fields.js",
            "kiosk.js",
            "patience.js",
            "questions.js",
            "reasons.js",
            "round.js",
            "sending.js",
        }:
            calls = re.findall(r"(?:say|parts|worded)\(([^;]*)", data.decode())
            used |= {key for call in calls for key in re.findall(r'"([a-z-]+)"', call)}
    ours = set(catalogue("en"))
    listed = {"scheduled", "closed", "finished", "accepted", "replayed", "too-late"}  # chosen by a state's name
    listed |= {"link-issued", "link-invited", "link-open"}
    listed |= {f"error-{code}" for code in codes_of_the_library()}
    listed |= {f"status-{status}" for status in STATUSES if status not in ("accepted", "replayed", "closed")}
    listed |= {"missing", "missing-why"}  # on the page for a link that leads nowhere
    assert ours <= used | listed
    assert listed - {"closed"} <= ours


_SENTENCE = r'\(\s*(?:`[^`]*`|"[^"]*")(?:\s*\+\s*"[^"]*")?,\s*"([a-z]+)"'
CLIENT = {path: data.decode() for path, data in served.served_files().items() if "/client/" in path}


def codes_of_the_library() -> set[str]:
    """What the browser client's errors are about, as far as people meet them."""
    return {code for text in CLIENT.values() for code in re.findall(rf"new \w+Error{_SENTENCE}", text)}


def test_every_refusal_of_the_library_has_a_sentence():
    """What the library says about privacy is said in every language; what only a damaged document brings is not."""
    assert codes_of_the_library() == {
        "answered", "charged", "claim", "group", "insecure", "ledger", "limit", "lost", "unprotected",
    }  # fmt: skip
    for path, text in CLIENT.items():
        assert text.count("new PrivacyError(") == len(re.findall(rf"new PrivacyError{_SENTENCE}", text)), path
