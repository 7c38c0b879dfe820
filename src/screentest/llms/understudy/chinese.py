"""Chinese phrases: the things a text names, and profile clauses said in the first person."""

from __future__ import annotations

import re
from functools import cache, lru_cache

from screentest.llms.understudy.lexicon import lexicon

_SENTENCE_END = re.compile(r"[。；！？;!?\n]+")
_CLAUSE_END = re.compile(r"[，,、（）()…—]+")
_RELATION = re.compile(r"([^：:]{1,8})[：:]([^，,、（）()…—]+)")
_QUOTES = frozenset('“”‘’「」『』《》"')
_STANCE = re.compile(
    r"[在于坐站立跪躺卧倚靠守骑乘端被挡随跟藏伏蹲停留隐悬飘飞走奔跑冲与同和离贴紧困绑夹锁囚挤持握执率领引陪伴拦横追逃逼退穿躲睡"
    r"驻扎据望看牵拉抱扶围行]|背[靠对着]|面[对向朝]|高坐|正对|远离|回到|来到|身[陷处披]|从|至今"
)
_KIN = "爹娘爸妈父母哥弟姐妹兄嫂妻夫儿女孙爷奶师叔舅姑姨祖"
_STARTS = re.compile(
    r"曾|自幼|自小|从小|生于|生在|出身|早年|年轻时|少年|幼|原是|本是|靠|在|把|为了|替|与|跟|和|当过|做过|会|能|爱|喜欢|怕|恨|想|知道|"
    r"记得|收|守|一直|总|从不|从未|不[肯爱会敢愿想识懂怕信忍]|常|偷|写|读|养|教|卖|开|欠|答应|相信|信|瞒|藏|其实|暗中|暗地|私下|悄悄|是|有|没有|最|只|对|从|被|给"
)
_PERSON = re.compile(r"[人者家匠师长娘女生夫客手员将王郎商工兵医官吏徒僧尼]$")
_NUMERALS = "第一二三四五六七八九十百千万两半几零"
_TELLS_WHO = ("背景", "身世", "来历", "描述", "简介", "description", "experience", "经历")


@cache
def _patterns() -> tuple[re.Pattern[str], ...]:
    known = lexicon("zh")
    edge = "".join(sorted(known.stop | known.verbs))
    noun = rf"[^{edge}一\W\da-zA-Z]"
    end = rf"(?=[{edge}一]|\W|$)"
    measure = "".join(sorted(known.measures))
    return (
        re.compile(rf"[这那一两几][{measure}](?:{noun}{{1,4}}的)?{noun}{{1,4}}{end}"),
        re.compile(rf"(?:[我你您他她]们?|咱们?)(?:的{noun}{{1,4}}|[{_KIN}]{noun}{{0,2}}){end}"),
        re.compile(r"《[^《》\W]{1,12}》"),
        re.compile(rf"(?<![^{edge}\W])(?![{measure}{_NUMERALS}]){noun}{{2,4}}的{noun}{{1,3}}{end}"),
    )


@cache
def _common() -> re.Pattern[str]:
    return re.compile("|".join(sorted(lexicon("zh").common)))


@cache
def _run() -> re.Pattern[str]:
    known = lexicon("zh")
    edge = "".join(sorted(known.stop | known.verbs))
    return re.compile(rf"(?<![\da-zA-Z])[^{edge}\W\da-zA-Z]+")


@lru_cache(maxsize=8192)
def things(text: str) -> tuple[str, ...]:
    """Noun phrases of ``text`` such as 那封信, 你爹, 城西的药铺."""
    found: list[str] = []
    text = _common().sub("，", text)
    for pattern in _patterns():
        for phrase in pattern.findall(text):
            if "的事" not in phrase and not phrase.endswith("件事") and phrase[-1] not in _NUMERALS:
                found.append("那" + phrase[1:] if phrase[0] in "一几两" else phrase)
    return tuple(dict.fromkeys(found))


@lru_cache(maxsize=256)
def vocabulary(texts: tuple[str, ...]) -> tuple[str, ...]:
    """Words that a scene's own texts reveal: runs of 2 to 4 characters, set off at least once, used at least twice."""
    common, whole = lexicon("zh").common, "\n".join(texts)
    found = (run for run in _run().findall(whole) if 2 <= len(run) <= 4 and run not in common)
    runs = dict.fromkeys(run for run in found if len(run.strip(_NUMERALS)) > 1 and run[0] != "号")
    return tuple(run for run in runs if whole.count(run) > 1)


def turned(thing: str) -> str:
    """A thing as the one who was spoken to would name it: 我爹 becomes 你爹."""
    flip = {"我": "你", "你": "我", "您": "我"}
    return flip.get(thing[0], thing[0]) + thing[1:]


def core(thing: str) -> str:
    """A thing without its demonstrative or owner: 那封信 and 我的信 give 信."""
    return re.sub(r"^[这那].(?=.)|^[我你您他她咱]们?的?(?=.)", "", thing)


def owned(thing: str) -> str:
    """A thing of the speaker's own profile: 他的信 becomes 我的信."""
    return "我" + thing[1:] if thing[0] in "他她你您" and thing[1:2] != "们" else thing


@lru_cache(maxsize=4096)
def place(text: str) -> str:
    """A short place as a noun phrase."""
    head = re.split(r"[，,。、；：（(！!？?…]", text.strip())[0].strip()
    head = "".join(char for char in head if char not in _QUOTES)
    return head if 2 <= len(head) <= 10 else ""


def placed(text: str) -> str:
    """Where someone is, as it follows a name: a bare place gets its preposition."""
    text = text.strip()
    bare = re.match(r"[\u4e00-\u9fff]", text) and not _STANCE.search(text)
    return f"在{text}" if bare else text


@lru_cache(maxsize=4096)
def avowals(key: str, value: str, name: str) -> tuple[str, ...]:
    """First-person clauses made of one attribute of the profile of ``name``; none where that would not read well."""
    if any(word in key.lower() for word in lexicon("zh").unspoken):
        return ()
    pronoun = re.search(r"[他她](?!们)", value)
    me = pronoun[0] if pronoun else "他"
    sentences = (sentence.strip() for sentence in _SENTENCE_END.split(value))
    found = [_avowal(key, sentence, name, me) for sentence in sentences if sentence]
    return tuple(said for said in dict.fromkeys(found) if 4 <= len(said) <= 24 and _QUOTES.isdisjoint(said))


def _avowal(key: str, sentence: str, name: str, me: str) -> str:
    if relation := _RELATION.match(sentence):
        said = re.sub("[他她](?!们)", "我", relation[2]).removeprefix("是")
        return f"{relation[1]}是{said}" if "的" in said or _PERSON.search(said) else ""
    clause = next((part.strip() for part in _CLAUSE_END.split(sentence) if part.strip()), "")
    for subject in (name, me, "你", "我"):
        if clause.startswith(subject) and clause[len(subject) : len(subject) + 1] not in ("们", "的", ""):
            return "我" + _first_person(clause[len(subject) :], me)
    rest = _first_person(clause, me)
    for part, frame in lexicon("zh").by_key.items():
        if part in key and (clause == sentence or not frame.endswith("，{}")):
            return frame.replace("{}", rest.removeprefix("害怕").removeprefix("怕"))
    if any(word in key for word in _TELLS_WHO) and _PERSON.search(clause) and len(clause) <= 10:
        return "我是" + rest.removeprefix("是")
    return "我" + rest if _STARTS.match(clause) else ""


def _first_person(text: str, me: str) -> str:
    return re.sub(rf"{me}(?!们)", "我", text)


def finished(text: str) -> str:
    """A composed sentence without stray white space between Chinese characters."""
    return re.sub(r"(?<=[\u3000-\u9fff，。！？（）])\s+|\s+(?=[\u3000-\u9fff，。！？（）])", "", text)
