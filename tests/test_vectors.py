import json
from pathlib import Path

import pytest
from tests.vectors import follow, forms, rounds

import discreet as dc
from discreet.mechanisms import entries
from discreet.mechanisms.base import Mechanism
from discreet.plans.encoders import read_encoder, write_encoder
from discreet.plans.questionnaire.form import Form

HERE = Path(__file__).parent / "vectors"


def read(name):
    return json.loads((HERE / f"{name}.json").read_text())


def test_keys_seeds_and_secrets_give_the_same_words():
    vectors = read("entropy")
    for row in vectors["keys"]:
        assert follow.words(row["key"], len(row["words"])) == row["words"]
    for row in vectors["seeded"]:
        assert dc.Entropy.seeded(row["seed"], row["stream"]).read(24).hex() == row["first"]
    for row in vectors["memoised"]:
        task, public = row["task"].split("\0")
        stream = dc.Entropy.memoised(bytes.fromhex(row["secret"]), task, row["value"], public=public)
        assert stream.read(24).hex() == row["first"]


@pytest.mark.parametrize("vector", read("mechanisms"), ids=lambda v: json.loads(v["document"])["name"])
def test_a_document_means_what_it_always_meant(vector):
    assert follow.follow(vector["document"], vector["key"], vector["inputs"]) == vector
    mechanism, entropy = Mechanism.from_json(vector["document"]), dc.Entropy.from_key(bytes.fromhex(vector["key"]))
    assert mechanism.to_json() == vector["document"]
    one_by_one = b"".join(mechanism.pack([mechanism.privatize(x, entropy)]) for x in vector["inputs"])
    assert one_by_one.hex() == vector["packed"]
    assert mechanism.pack(mechanism.unpack(one_by_one)) == one_by_one


def test_every_kind_has_vectors():
    entries()
    built_in = {kind for kind, shape in Mechanism._kinds.items() if shape.__module__.startswith("discreet.")}
    assert built_in == {json.loads(vector["document"])["kind"] for vector in read("mechanisms")}


def test_bad_documents_are_refused_by_the_same_error():
    assert {row["error"] for row in read("refused")} == {"WireError", "PrivacyError"}
    for row in read("refused"):
        assert follow.refusal(row["document"]) == row["error"], row["document"][:300]


def kind_of(document):
    """The kind that documents of 0.1 did not write."""
    return {"kind": write_encoder(read_encoder(document))["kind"]} if "kind" not in document else {}


def test_values_become_the_same_inputs():
    for row in read("encoders"):
        assert write_encoder(read_encoder(row["encoder"])) in (row["encoder"], row["encoder"] | kind_of(row["encoder"]))
        assert [follow.encode(row["encoder"], value) for value in row["values"]] == row["inputs"]
        assert follow.encode_total(row["encoder"], row["values"]) == {key: row[key] for key in ("total", "replaced")}


def test_numbers_have_one_spelling():
    assert all(repr(float(text)) == text for text in read("numbers"))


def test_uploads_have_the_same_bytes_and_channels():
    for row in read("uploads"):
        assert follow.upload(*(row[key] for key in ("campaign", "round", "width", "answers", "ends"))) == row


@pytest.mark.parametrize("vector", read("rounds"), ids=lambda v: v["reason"] or "read")
def test_rounds_are_read_assigned_and_answered_or_refused(vector):
    if vector["error"]:
        assert rounds.announcement_error(vector["announcement"], vector["limit"]) == vector["error"]
    else:
        given = ("id", "value", "group")
        people = [{key: person[key] for key in given if key in person} for person in vector["facts"]["people"]]
        assert rounds.announced(vector["announcement"], vector["limit"], people) == vector["facts"]


@pytest.mark.parametrize("vector", read("forms"), ids=lambda v: v["reason"] or "read")
def test_answers_become_the_same_rows(vector):
    if vector["reason"] is not None:
        assert forms.error(vector["questions"]) == "refused"
    else:
        assert forms.rows(vector["questions"], vector["people"]) == vector["rows"]
        assert Form.read(vector["questions"]).to_list() == vector["questions"]
