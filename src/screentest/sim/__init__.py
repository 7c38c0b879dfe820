"""The simulation: events, the state they fold into, the conversation loop and the scheduler."""

from screentest.sim.events import (
    Auditioned,
    Candidate,
    Event,
    Fault,
    SceneClosed,
    SceneOpened,
    SpeakerChosen,
    Spoken,
)
from screentest.sim.play import Players, Rules, play
from screentest.sim.scheduler import Gated, staggered
from screentest.sim.state import State, view
from screentest.sim.trajectory import Trajectory, record

__all__ = [
    "Auditioned",
    "Candidate",
    "Event",
    "Fault",
    "Gated",
    "Players",
    "Rules",
    "SceneClosed",
    "SceneOpened",
    "SpeakerChosen",
    "Spoken",
    "State",
    "Trajectory",
    "play",
    "record",
    "staggered",
    "view",
]
