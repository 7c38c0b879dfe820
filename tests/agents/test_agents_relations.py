"""Relations: who is near to whom, from what profiles say and from who did what to whom."""

from __future__ import annotations

import pytest

from screentest.agents import Relations
from screentest.pools import Character, Tie


def person(name: str, about: str = "keeps to themselves", **private: str) -> Character:
    return Character.model_validate(
        {"name": name, "language": "en", "kind": "synthesized", "public": {"about": about}, "private": private}
    )


def strangers(*names: str) -> Relations:
    return Relations(tuple(person(name) for name in names))


def test_strangers_are_not_near():
    assert strangers("Ada", "Ben", "Cyn").ties() == ()


def test_a_public_profile_that_names_another_ties_the_two():
    relations = Relations((person("Ada", "sister of Ben"), person("Ben"), person("Cyn")))
    assert relations.known == {("Ada", "Ben")}
    assert relations.ties() == (Tie("Ada", "Ben", 1.0),)


def test_what_only_the_character_knows_ties_nobody():
    relations = Relations((person("Ada", secret="has loved Ben for years"), person("Ben")))
    assert relations.ties() == ()


def test_nearness_is_measured_against_the_nearest():
    """A mention in a profile weighs 3, a line 1, a deed 2; both ways count."""
    relations = Relations((person("Ada", "sister of Ben"), person("Ben"), person("Cyn"), person("Dan")))
    relations.touch("Ben", "Ada")
    relations.speak("Cyn", "Ben")
    relations.speak("Ben", "Cyn")
    relations.touch("Ada", "Cyn")
    relations.touch("Cyn", "Ada")
    assert relations.ties() == (Tie("Ada", "Ben", 1.0), Tie("Ada", "Cyn", 0.8), Tie("Ben", "Cyn", 0.4))


def test_equally_near_pairs_keep_the_order_of_the_cast():
    relations = strangers("Ada", "Ben", "Cyn")
    relations.speak("Cyn", "Ben")
    relations.speak("Ada", "Ben")
    assert [(tie.one, tie.other) for tie in relations.ties()] == [("Ada", "Ben"), ("Ben", "Cyn")]


@pytest.mark.parametrize(
    ("text", "called"),
    [
        ("Is that you, Ann Vale?", {"Ann Vale"}),
        ("Ann's lamp is out.", {"Ann Vale"}),
        ("(turns to Hale) Well?", {"Tom Hale"}),
        ("The annual fair, and Hales by the dozen.", set()),
        ("Vale or Hale, it is all one to Bo.", {"Tom Hale", "Bo"}),
        ("Bob knows, and the Captain.", set()),
        ("阿宁，你来了。", {"阿宁"}),
        ("我和Ann说过了。", {"Ann Vale"}),
        ("玛丽在哪里？", {"玛丽·威尔逊"}),
    ],
)
def test_calls_people_by_whole_names_or_by_a_part_that_is_theirs_alone(text: str, called: set[str]):
    names = ("Ann Vale", "Sam Vale", "Tom Hale", "Bo", "The Stranger", "阿宁", "玛丽·威尔逊")
    relations = strangers(*names)
    assert {name for name in names if relations.names(text, name)} == called


def test_a_name_is_data():
    relations = strangers("A.*", "Ben (the elder)")
    assert not relations.names("Anything at all", "A.*")
    assert relations.names("Ask A.*, not me", "A.*")
    assert relations.names("Ben (the elder) left.", "Ben (the elder)")


def test_are_a_graph_with_everyone_in_it():
    relations = Relations((person("Ada", "sister of Ben"), person("Ben"), person("Cyn")))
    relations.speak("Ben", "Ada")
    relations.speak("Ben", "Ada")
    relations.touch("Ben", "Ada")
    graph = relations.graph()
    assert list(graph.nodes) == ["Ada", "Ben", "Cyn"]
    assert dict(graph.edges) == {
        ("Ada", "Ben"): {"known": 1, "spoken": 0, "touched": 0, "weight": 3},
        ("Ben", "Ada"): {"known": 0, "spoken": 2, "touched": 1, "weight": 4},
    }
