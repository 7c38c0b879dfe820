"""Who is played, where, and what is seen of it."""

from screentest.pools.character import Attribute, Character, Language, Visibility, identifier
from screentest.pools.line import Line
from screentest.pools.scene import Scene, Situation
from screentest.pools.view import Profile, View

__all__ = [
    "Attribute",
    "Character",
    "Language",
    "Line",
    "Profile",
    "Scene",
    "Situation",
    "View",
    "Visibility",
    "identifier",
]
