"""Who is played, where, and what is seen of it."""

from screentest.pools.character import LANGUAGES, Attribute, Character, Language, Visibility, identifier
from screentest.pools.line import Line
from screentest.pools.manifest import Manifest
from screentest.pools.mind import Beliefs, Reminder, Standing, Tie
from screentest.pools.pool import Pool, starter_pool
from screentest.pools.reading import load_character, load_characters
from screentest.pools.scene import Scene, Situation
from screentest.pools.view import Profile, View

__all__ = [
    "LANGUAGES",
    "Attribute",
    "Beliefs",
    "Character",
    "Language",
    "Line",
    "Manifest",
    "Pool",
    "Profile",
    "Reminder",
    "Scene",
    "Situation",
    "Standing",
    "Tie",
    "View",
    "Visibility",
    "identifier",
    "load_character",
    "load_characters",
    "starter_pool",
]
