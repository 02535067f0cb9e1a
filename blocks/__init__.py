"""The block library. The engine finds it as it would find anybody's, by the entry point group `blocksim.libraries`."""

from __future__ import annotations

from functools import partial
from importlib import import_module

from blocksim.contract.block import Block
from blocksim.contract.library import LazyBlocks

#: Where each public block is defined, in the order of the catalogue: a block is imported when it is first asked for, so that a
#: small diagram starts without the large ones. Each module lists the same names in `__all__`.
PLACES = {
    "sources.sources": "Chirp Constant FromRecord Pulse Ramp Sine Step",
    "sources.sequences": "Clock RepeatingSequence",
    "sources.noise": "PRBS FilteredNoise RandomBinary UniformNoise WhiteNoise",
    "sources.levels": "LevelSequence",
    "sources.multisine": "Multisine",
    "sources.trajectories": "FourierTrajectory PolynomialTrajectory TrapezoidTrajectory",
    "basic.arithmetic": "Abs Function Gain MatrixGain Product Sum",
    "basic.routing": "Demux Mux Select Switch",
    "basic.logic": "Compare Counter EdgeDetector Logic MinMax",
    "basic.continuous": "Derivative FirstOrderLag Integrator StateSpace TransferFunction TransportDelay",
    "basic.filters": "LowPass Notch ZeroPole",
    "basic.discrete": "DiscreteIntegrator DiscreteStateSpace DiscreteTransferFunction MovingAverage UnitDelay ZeroOrderHold",
    "basic.holding": "Delay SampleAndHold",
    "basic.nonlinear": "Backlash DeadZone Quantizer RateLimiter Relay Saturation Sign Wrap",
    "basic.lookup": "LookupTable LookupTable2D",
    "plants.friction": "BoucWen Coulomb LuGre Stribeck",
    "plants.parts": "ElastoBacklash Gear Hysteresis Inertia SpringDamper",
    "plants.two_mass": "TwoMassRobot",
    "plants.three_mass": "ThreeMassRobot",
    "plants.flexible_arm": "FlexibleArm",
    "plants.joints": "AsymmetricPositioner ElectroMechanicalPositioner GravityJoint",
    "plants.scara": "ComputedTorque ScaraRobot",
    "plants.serial.robot": "SerialRobot",
    "plants.inverse_dynamics": "InverseDynamics",
    "control.sensors": "Encoder NoisySensor SpeedFromEncoder TorqueSensor",
    "control.channel": "Channel",
    "control.controllers": "PD PID CascadePPI",
    "smoothing.filters": "BandPassDerivatives CentralDifference Decimate ZeroPhaseFilter",
    "smoothing.resample": "Resample Trim",
    "smoothing.irw": "IRWSmoother",
    "smoothing.grw": "GRWSmoother",
    "observers.ekf": "EKF",
    "observers.rts": "RTSSmoother",
    "observers.joint_ekf": "JointEKF",
    "observers.ukf": "UKF JointUKF",
    "observers.rpem": "RPEM",
    "observers.rls": "RecursiveLeastSquares Regressor",
    "identifiers.regression.didim": "DIDIM",
    "identifiers.regression.instrumental": "InstrumentalVariable",
    "identifiers.cloe": "CLOE",
    "identifiers.output_error": "OutputError",
    "identifiers.regression.least_squares": "LeastSquares",
    "identifiers.frequency_response": "FrequencyResponse",
    "identifiers.linear.arx": "ARX",
    "identifiers.linear.oe": "OE",
    "identifiers.linear.subspace": "Subspace",
    "identifiers.mean_spring": "MeanSpring",
    "identifiers.rpem_hybrid": "RPEMHybrid",
}


def block_class(module: str, name: str) -> type[Block]:
    kind: type[Block] = getattr(import_module(f".{module}", __name__), name)
    return kind


LIBRARY = LazyBlocks({name: partial(block_class, module, name) for module, names in PLACES.items() for name in names.split()})
