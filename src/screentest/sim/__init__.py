"""The simulation: events, the state they fold into, the conversation loop and the scheduler."""

from screentest.sim.damage import damage
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
from screentest.sim.ledger import LedgerRow, ledger, standing
from screentest.sim.play import Players, Rules, play
from screentest.sim.run import STORE, Run, Session, fork, locked, open_run
from screentest.sim.scheduler import group, staggered, together
from screentest.sim.state import State, view
from screentest.sim.store import EVALUATION, Store, Tally
from screentest.sim.trajectory import Trajectory, record

__all__ = [
    "EVALUATION",
    "STORE",
    "Auditioned",
    "Candidate",
    "Event",
    "Fault",
    "LedgerRow",
    "Players",
    "Rules",
    "Run",
    "SceneClosed",
    "SceneOpened",
    "Session",
    "SpeakerChosen",
    "Spoken",
    "State",
    "Store",
    "Tally",
    "Trajectory",
    "damage",
    "fork",
    "group",
    "ledger",
    "locked",
    "open_run",
    "play",
    "record",
    "staggered",
    "standing",
    "together",
    "view",
]
