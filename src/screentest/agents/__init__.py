"""Who takes part in a scene: the director and the players of its characters."""

from screentest.agents.director import Direction, Director
from screentest.agents.player import SceneCharacter, TestCharacter

__all__ = ["Direction", "Director", "SceneCharacter", "TestCharacter"]
