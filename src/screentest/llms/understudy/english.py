"""English phrases: the things a text names, and profile sentences said in the first person."""

from __future__ import annotations

import re
from functools import lru_cache

from screentest.llms.understudy.lexicon import lexicon

_TOKEN = re.compile(r"[A-Za-zÀ-ɏ]+(?:['’-][A-Za-zÀ-ɏ]+)*|[^\sA-Za-z]")
_DETERMINERS = frozenset(["the", "this", "my", "your", "his", "her", "our", "their", "a", "an"])
_CLAUSE_END = re.compile(r"[,:;()\[\]]|\s[-–—]\s|—")
_RELATION = re.compile(r"([A-Z][\w.' -]{1,30}): ((?:the|a|an|his|her|their|my|your) [^,;:()]+)")
_LEAD = re.compile(r"^\W*(?:[\w'’-]+\s?){1,4},")
_SENTENCE_END = re.compile(r"(?<=[a-zà-ɏ0-9'’\")])[.!?;]+\s+|[.!?;]+$|\n")
_WHERE = re.compile(
    r"(?:at|in|on|by|near|next|beside|behind|before|under|beneath|below|above|over|among|amid|between|inside|within|"
    r"outside|across|against|along|around|atop|away|back|close|far|face|opposite|with|two|several|right|where|half|"
    r"bound|stuck|hidden|held|caught|sat|a (?:few|step|pace|little|couple|stone)|\w+ing|\w+ed)\b"
)
_POSTURES = {"stands": "standing", "sits": "sitting", "kneels": "kneeling", "lies": "lying", "waits": "waiting"}
_UNSAYABLE = frozenset('"“”.!?*')
_ABBREVIATION = re.compile(r"\b(Mrs?|Ms|Dr|St)\.")
_FINITE = frozenset(["is", "was", "are", "were", "has", "had", "have", "will", "would", "can", "could", "did", "does"])
_ADVERBS = frozenset(
    [
        "never",
        "then",
        "thus",
        "soon",
        "later",
        "always",
        "often",
        "still",
        "also",
        "once",
        "now",
        "rarely",
        "seldom",
        "sometimes",
        "usually",
        "both",
    ]
)
_WAS = frozenset(
    ["born", "raised", "orphaned", "exiled", "widowed", "known", "sent", "bred", "apprenticed", "trained", "taught"]
)
_SELF = {"he": ("he", "his", "him", "himself"), "she": ("she", "her", "her", "herself")}
_IRREGULAR = {"is": "am", "are": "am", "has": "have", "does": "do", "goes": "go", "isn't": "am not", "doesn't": "don't"}
_NOT_NOUN = ("ly", "ed", "est", "ous", "ful", "less", "ible", "tive", "'s", "’s")
_FLIP = {"my": "your", "your": "my"}
_PERSON = ("er", "or", "ist", "man", "woman", "ian", "ess", "widow", "girl", "boy", "king", "queen", "daughter", "son")
_NOT_PERSON = frozenset(
    [
        "letter",
        "paper",
        "water",
        "river",
        "power",
        "tower",
        "order",
        "dinner",
        "winter",
        "summer",
        "danger",
        "matter",
        "manner",
    ]
)
_TELLS_WHO = ("background", "persona", "description", "role", "profile", "experience", "identity", "occupation")
_TELLS_HOW = ("persona", "character", "temper", "trait")


@lru_cache(maxsize=8192)
def things(text: str) -> tuple[str, ...]:
    """Noun phrases of ``text`` such as "the torn chart": a determiner and up to three words that end cleanly."""
    known = lexicon("en")
    tokens = _TOKEN.findall(_LEAD.sub("", text))
    found: list[str] = []
    for at, token in enumerate(tokens):
        determiner = token.lower()
        if determiner not in _DETERMINERS:
            continue
        phrase: list[str] = []
        for word in tokens[at + 1 : at + 6]:
            if not word[0].isalpha() or word.lower() in known.stop:
                break
            phrase.append(word)
        if (noun := _trimmed(phrase)) and not (determiner == "this" and _is_plural(noun)):
            found.append(f"{'that' if determiner in {'a', 'an'} else determiner} {noun}")
    return tuple(dict.fromkeys(found))


def _trimmed(phrase: list[str]) -> str:
    known = lexicon("en")
    if not phrase or len(phrase) > 3:
        return ""
    words = list(phrase)
    plural = next((i for i, word in enumerate(words) if _is_plural(word.lower())), len(words) - 1)
    words = words[: plural + 1]
    while len(words) > 1 and _is_verbal(words[-1]):
        words.pop()
    last = words[-1].lower()
    if (
        last in known.adjectives
        or last in known.emotive
        or last in known.verbs
        or last.endswith(_NOT_NOUN)
        or len(last) < 3
    ):
        return ""
    return " ".join(words)


def _is_verbal(word: str) -> bool:
    lower = word.lower()
    return lower in lexicon("en").verbs or lower.endswith(("ed", "ing", "ly"))


def _is_plural(word: str) -> bool:
    """Whether it looks like a plural, or just as well like a verb in the third person."""
    return word.endswith("s") and not word.endswith(("ss", "us", "'s", "’s"))


@lru_cache(maxsize=4096)
def place(text: str) -> str:
    """A short place as a noun phrase: "Lighthouse kitchen, at night" gives "the lighthouse kitchen"."""
    head = _CLAUSE_END.split(text.strip().rstrip("."))[0].strip()
    words = head.split()
    if not 1 <= len(words) <= 5 or not _UNSAYABLE.isdisjoint(head):
        return ""
    if words[0].lower() in {"a", "an", "the"}:
        return " ".join(["the", *words[1:]]) if len(words) > 1 else ""
    if words[0].lower() in lexicon("en").stop:
        return ""
    if all(word[0].isupper() for word in words) or any(word.endswith(("'s", "’s")) for word in words[:2]):
        return head
    return f"the {words[0].lower()} {' '.join(words[1:])}".strip()


def placed(text: str) -> str:
    """Where someone is, as it follows "is": "The door" gives "at the door"; empty if that would not read well."""
    first, _, rest = text.strip().partition(" ")
    said = f"{_POSTURES.get(first.lower(), first.lower())} {rest}".strip()
    if _WHERE.match(said):
        return said
    return f"at {said}" if said.startswith(("the ", "a ", "an ")) else ""


def turned(thing: str) -> str:
    """A thing as the one who was spoken to would name it: "my letter" becomes "your letter"."""
    first, _, rest = thing.partition(" ")
    return f"{_FLIP.get(first, first)} {rest}"


def core(thing: str) -> str:
    """A thing without its determiner."""
    return thing.partition(" ")[2] or thing


def owned(thing: str) -> str:
    """A thing of the speaker's own profile: "his letter" becomes "my letter"."""
    first, _, rest = thing.partition(" ")
    return f"{'my' if first in {'his', 'her', 'their', 'your'} else first} {rest}"


@lru_cache(maxsize=4096)
def avowals(key: str, value: str, name: str) -> tuple[str, ...]:
    """First-person clauses made of one attribute of the profile of ``name``; none where that would not read well."""
    known, low = lexicon("en"), key.lower()
    if any(word in low for word in known.unspoken):
        return ()
    pronoun = re.search(r"\b(he|she|his|her|him)\b", value, re.IGNORECASE)
    gender = "she" if pronoun and pronoun[1].lower() in {"she", "her"} else "he"
    sentences = _SENTENCE_END.split(_ABBREVIATION.sub(r"\1", value))
    found = [_avowal(low, sentence, name, gender) for sentence in sentences if sentence.strip()]
    return tuple(said for said in dict.fromkeys(found) if 3 <= len(said.split()) <= 15 and _UNSAYABLE.isdisjoint(said))


def _avowal(key: str, sentence: str, name: str, gender: str) -> str:
    if relation := _RELATION.match(sentence.strip()):
        return f"{relation[1]} is {_in_first_person(['', *relation[2].split()], gender).removeprefix('I ')}"
    parts = [part.strip() for part in _CLAUSE_END.split(sentence) if part.strip()]
    if not parts:
        return ""
    first = parts[0]
    subject, rest = _split_subject(first, name)
    known = lexicon("en")
    words = rest.split()
    if not words:
        return ""
    head = words[0].lower()
    if subject:
        return _in_first_person(words, gender)
    if head in {"i", "i'm", "i've"}:
        return first
    if head in known.verbs or head in _ADVERBS:
        return _in_first_person(words, gender)
    if head in _WAS:
        return _in_first_person(["was", head, *words[1:]], gender)
    if any(word in key for word in _TELLS_HOW) and len(words) <= 2 and words[-1].lower() in known.adjectives:
        return f"I am {first.lower()}"
    if head in {"a", "an"} and any(word in key for word in _TELLS_WHO):
        return _as_person(words, gender)
    return _by_key(key, words, gender)


def _split_subject(clause: str, name: str) -> tuple[str, str]:
    for subject in (name, name.split(maxsplit=1)[0], "He", "She", "They", "You"):
        if clause.startswith(subject + " "):
            return subject, clause[len(subject) :].strip()
    return "", clause


def _as_person(words: list[str], gender: str) -> str:
    stop = lexicon("en").stop
    head = next((words[i] for i in range(1, len(words)) if i + 1 == len(words) or words[i + 1].lower() in stop), "")
    if head.lower() in _NOT_PERSON or not head.lower().endswith(_PERSON):
        return ""
    return _in_first_person(["am", words[0].lower(), *words[1:]], gender)


def _by_key(key: str, words: list[str], gender: str) -> str:
    head = words[0].lower()
    if not (head.endswith("ing") or head in _DETERMINERS):
        return ""
    for part, frame in lexicon("en").by_key.items():
        if part in key:
            said = _in_first_person(["", head, *words[1:]], gender).removeprefix("I ").strip()
            return said if any(word.lower() in _FINITE for word in words[1:]) else frame.replace("{}", said)
    return ""


def _in_first_person(words: list[str], gender: str) -> str:
    known, (he, his, him, himself) = lexicon("en"), _SELF[gender]
    said, verb_due = ["I"], True
    for at, word in enumerate(words):
        low, after = word.lower(), words[at + 1].lower() if at + 1 < len(words) else ""
        if verb_due and low not in _ADVERBS and not low.endswith("ly"):
            said.append(_plain_verb(low))
            verb_due = False
        elif low in {"and", "but", "or", "who", "which", "while"} and (
            after in known.verbs or after.endswith("s") or after == "then"
        ):
            break
        elif low == he:
            said.append("I")
            verb_due = True
        elif low == his and (low != him or (after and after not in known.stop | known.adjectives)):
            said.append("my")
        elif low == him:
            said.append("me")
        elif low in {himself, "yourself"}:
            said.append("myself")
        elif low in {"your", "their"} and low == "your":
            said.append("my")
        else:
            said.append(word)
    return " ".join(filter(None, said))


def _plain_verb(verb: str) -> str:
    if verb in _IRREGULAR:
        return _IRREGULAR[verb]
    if verb in {"was", "am"} or not verb.endswith("s") or verb.endswith("ss"):
        return verb
    if verb.endswith("ies") and len(verb) > 4:
        return verb[:-3] + "y"
    return verb[:-2] if verb.endswith(("ches", "shes", "sses", "xes", "zzes", "oes")) else verb[:-1]


def finished(text: str) -> str:
    """A composed sentence with its first letter raised and stray spaces and commas removed."""
    text = re.sub(r"\s+([,.;:!?])", r"\1", " ".join(text.split()))
    return text[0].upper() + text[1:]
