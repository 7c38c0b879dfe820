"""Who takes part in a scene: director, narrator and the players of its characters; and what these have in mind."""

from screentest.agents.cue import Cue, CueKind
from screentest.agents.director import Direction, Director
from screentest.agents.mind import Mind
from screentest.agents.narrator import NARRATOR, Change, Influence, Matter, Narrator, Resolution
from screentest.agents.player import Player, SceneCharacter, ScriptedPlayer, TestCharacter
from screentest.agents.relations import Relations

__all__ = [
    "NARRATOR",
    "Change",
    "Cue",
    "CueKind",
    "Direction",
    "Director",
    "Influence",
    "Matter",
    "Mind",
    "Narrator",
    "Player",
    "Relations",
    "Resolution",
    "SceneCharacter",
    "ScriptedPlayer",
    "TestCharacter",
]
