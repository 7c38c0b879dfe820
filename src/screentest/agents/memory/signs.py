"""Words that are signs of importance (:mod:`screentest.agents.memory.importance`), in English and Chinese.

An English word stands for itself, and for all that begins with it if it ends in an asterisk. Chinese signs are one or
two characters, found anywhere.
"""

from __future__ import annotations

from typing import NamedTuple


class Sign(NamedTuple):
    """What a word is a sign of: ``kind``, and ``stem``, the entry that it was found by."""

    kind: str
    stem: str


_ENGLISH = {
    "matter": """
        admit* affair* afraid alive allerg* ally allies ambush* arrest* assassin* ashamed attack* baby beg begged
        behead* betray* bless* blackmail* blood* bomb* bones burn burned burnt burning bury buried burial child
        children confess* conspir* corpse* coward* crime* crown* curse* danger* daughter* dead death* debt* deceiv*
        desert* despair* destroy* die died dies divorc* doom* drown* dying enemy enemies engaged escap* exile*
        expose* father* fault fear* forbid* forbad* forge* forging forgiv* fraud* funeral* ghost* grave* guilt*
        hanged hate* heir* hid hide hides hidden hiding hostage* hurt* husband* identity ill illness impostor*
        innocen* inherit* jealous* kidnap* kill* kiss* letter* lie lied lies lying love* madness marry married
        marriage mask* mercy money mother* murder* mutin* oath* orphan* pact pain* pardon* password* poison*
        pregnan* prison* promis* proof prove* ransom* rebel* reveng* reveal* robbed robber* rumour* rumor*
        sacrific* scar scars secret* shame* sick* sister* brother* slave* son spy spies steal* stole* surviv*
        sword* swear* swore sworn thief thieves threat* tomb* traitor* treason* treasur* trust* truth* vengeance
        victim* vow vows vowed war warn* wedding* widow* wife wives testament wound*
    """,
    "change": """
        accept* agree* arriv* became become* break* broke* build* built buy* bought chang* choos* chose* decid*
        deliver* fail* fell fight* fought find finds found flee* fled gave give gives giving given hire hired join*
        leave leaves left lock locks locked lose* lost miss missed offer* open opens opened order* pay pays paid
        push* pull* quit refus* rememb* return* sell* sold sign signs signed slam* snatch* stop* struck surrender*
        take takes taken took tear tears tore torn threw thrown throw* unlock* win wins won wreck*
    """,
    "number": """
        two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
        eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred* thousand* million* dozen*
        half midnight noon dawn dusk monday tuesday wednesday thursday friday saturday sunday tomorrow yesterday
        tonight
    """,
    "refusal": """
        no not never none nobody nothing cannot neither nor without dont wont cant
    """,
    "courtesy": """
        hello hi hey morning evening thanks thank yes yeah ok okay course sure indeed nod nods nodded smile smiles
        smiled shrug* bow bows bowed welcome well please goodbye bye weather
    """,
}
_CHINESE = {
    "matter": """
        秘密 真相 发誓 誓 答应 承诺 诺言 保证 背叛 出卖 叛 死 杀 命 血 仇 恨 爱 喜欢 嫁 娶 成亲 婚 孩子 儿子 女儿
        父亲 母亲 爹 娘亲 兄弟 姐妹 妻 丈夫 遗 坟 葬 偷 盗 抢 骗 谎 假 冒充 赝 伪 债 欠 赎 银子 宝 密信 暗号 口令
        藏 埋 钥匙 书信 遗书 证据 凶 案 罪 牢 捕 逃 救 伤 病 毒 痛 怕 恐 危险 威胁 警告 战 敌 刺 火 烧 毁 灭 亡
        牺牲 复仇 后悔 愧 羞 原谅 求你 跪 哭 泪 绝望 疯 鬼 诅咒 怀孕 失踪 身份
    """,
    "change": """
        给了 交给 递给 拿走 取走 带走 离开 走了 回来 来到 到达 打开 关上 锁 砸 摔 撕 打碎 推开 夺 买 卖 签 输 赢 丢
        找到 发现 记得 忘 决定 同意 拒绝 选择 停下 倒下 跌 加入 开除 辞 换 抓
    """,
    "number": """
        今晚 明天 昨天 昨夜 子时 午时 半夜 天亮 三更 黎明
    """,
    "refusal": """
        不 没 别 勿 未 莫 无 绝
    """,
    "courtesy": """
        你好 您好 早安 晚安 谢谢 多谢 好的 是的 嗯 哦 点头 微笑 笑了 耸肩 知道 再见 请坐 客气 慢走 天气
    """,
}


def _table(lexicon: dict[str, str]) -> dict[str, Sign]:
    return {word: Sign(kind, word) for kind, words in lexicon.items() for word in words.split()}


ENGLISH, CHINESE = _table(_ENGLISH), _table(_CHINESE)
