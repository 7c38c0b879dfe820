"""The simulation: events, the state they fold into, the conversation loop and the scheduler."""

from screentest.sim.damage import damage
from screentest.sim.events import (
    Auditioned,
    BeliefsUpdated,
    Candidate,
    EnvironmentChanged,
    Event,
    Fault,
    ImportanceRated,
    Influenced,
    Outcome,
    Recalled,
    Reflected,
    SceneClosed,
    SceneOpened,
    SpeakerChosen,
    Spoken,
    StateChanged,
)
from screentest.sim.ledger import LedgerRow, ledger, standing
from screentest.sim.play import play
from screentest.sim.rules import Importance, MemoryRules, Rules, Staging
from screentest.sim.run import STORE, Run, Session, fork, locked, open_run
from screentest.sim.scheduler import group, staggered, together
from screentest.sim.stage import Players, emphasised
from screentest.sim.state import State
from screentest.sim.store import EVALUATION, REFLECTION, Store, Tally
from screentest.sim.trajectory import Trajectory, record
from screentest.sim.view import view

__all__ = [
    "EVALUATION",
    "REFLECTION",
    "STORE",
    "Auditioned",
    "BeliefsUpdated",
    "Candidate",
    "EnvironmentChanged",
    "Event",
    "Fault",
    "Importance",
    "ImportanceRated",
    "Influenced",
    "LedgerRow",
    "MemoryRules",
    "Outcome",
    "Players",
    "Recalled",
    "Reflected",
    "Rules",
    "Run",
    "SceneClosed",
    "SceneOpened",
    "Session",
    "SpeakerChosen",
    "Spoken",
    "Staging",
    "State",
    "StateChanged",
    "Store",
    "Tally",
    "Trajectory",
    "damage",
    "emphasised",
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
