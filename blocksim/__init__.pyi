"""The front door for type checkers and editors: the public names of `__init__.py`, which loads them when first used."""

from .compiler.codegen import generate as generate
from .contract.block import Block as Block
from .contract.block import RecordBlock as RecordBlock
from .contract.block import SampledBlock as SampledBlock
from .contract.block import both as both
from .contract.block import falling as falling
from .contract.block import rising as rising
from .contract.declarations import fixed as fixed
from .contract.declarations import inport as inport
from .contract.declarations import law as law
from .contract.declarations import memory as memory
from .contract.declarations import model as model
from .contract.declarations import normal as normal
from .contract.declarations import outport as outport
from .contract.declarations import param as param
from .contract.declarations import period as period
from .contract.declarations import required as required
from .contract.declarations import state as state
from .contract.declarations import static as static
from .contract.declarations import table as table
from .contract.declarations import uniform as uniform
from .contract.library import library as library
from .contract.library import register as register
from .diagram.build import build as build
from .diagram.build import open_diagram as open_diagram
from .diagram.diagram import Diagram as Diagram
from .diagram.loader import load as load
from .diagram.loader import save as save
from .diagram.schema import schema as schema
from .diagram.spec import Spec as Spec
from .errors import BlockDefinitionError as BlockDefinitionError
from .errors import BlocksimError as BlocksimError
from .errors import DiagramError as DiagramError
from .errors import RecordError as RecordError
from .errors import SimulationError as SimulationError
from .errors import StudyError as StudyError
from .estimation.estimates import Estimate as Estimate
from .estimation.estimates import Estimates as Estimates
from .estimation.process import process as process
from .linear.linear_model import LinearModel as LinearModel
from .linear.linearize import linearize as linearize
from .linear.linearize import operating_point as operating_point
from .linear.operating import OperatingPoint as OperatingPoint
from .pictures.draw import draw as draw
from .pictures.estimate_traces import plot_traces as plot_traces
from .pictures.plots import plot as plot
from .planning.information import Information as Information
from .planning.information import information as information
from .records.record import Record as Record
from .running.identify import identify as identify
from .running.simulate import rerun as rerun
from .running.simulate import simulate as simulate
from .running.simulate import simulate_many as simulate_many
from .running.simulate import start as start
from .schedule.flatten import flatten as flatten
from .schedule.schedule import Schedule as Schedule
from .simulation.experiment import Experiment as Experiment
from .simulation.prepare import experiment as experiment
from .simulation.simulation import Simulation as Simulation
from .studies.study import StudyResult as StudyResult
from .studies.study import run_study as run_study

__version__: str
PUBLIC: dict[str, str]
__all__: list[str]
