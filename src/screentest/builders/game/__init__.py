"""Games: a scene in which a person plays one of the characters."""

from screentest.builders.game.game import Game
from screentest.builders.game.opening import Seat, began, game_cast, open_game, take_seat
from screentest.builders.game.part import LAST, Part
from screentest.builders.game.reasons import Reasons

__all__ = ["LAST", "Game", "Part", "Reasons", "Seat", "began", "game_cast", "open_game", "take_seat"]
