"""The loop of (b) for jaxonomy and Drake, where they are installed: the same equations, built once and run many times."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from systems import REFERENCE, SERVO


@functools.cache
def jaxonomy_loop(stop: float) -> Any:
    """(b) in jaxonomy: plant and controller as two systems of its own kind, RK4 with a step of 1 ms."""
    import jax

    jax.config.update("jax_enable_x64", True)
    import jax.numpy as jnp
    import jaxonomy
    from jaxonomy.framework import LeafSystem

    s = SERVO

    class Joint(LeafSystem):
        def __init__(self) -> None:
            super().__init__(name="joint")
            self.declare_input_port(name="tau")
            self.declare_continuous_state(default_value=jnp.zeros(2), ode=self.slope)
            self.declare_continuous_state_output(name="x")

        def slope(self, time: Any, state: Any, tau: Any, **parameters: Any) -> Any:
            q, qd = state.continuous_state
            force = tau - s["Fv"] * qd - s["Fc"] * jnp.tanh(100 * qd) - s["G"] * jnp.cos(q / 15)
            return jnp.array([qd, force / s["J"]])

    class Controller(LeafSystem):
        """Its memories are the integral and the last error; its torque is held for a sample."""

        def __init__(self) -> None:
            super().__init__(name="controller")
            self.declare_input_port(name="x")
            self.declare_discrete_state(default_value=jnp.zeros(2))
            held = {"period": 1e-3, "offset": 0.0}
            self.declare_output_port(self.torque, name="tau", requires_inputs=True, default_value=jnp.array(0.0), **held)
            self.declare_periodic_update(self.update, **held)

        def error(self, time: Any, x: Any) -> Any:
            reference = sum(a * jnp.sin(2 * math.pi * f * time) for a, f in REFERENCE)
            return reference - s["resolution"] * jnp.floor(x[0] / s["resolution"] + 0.5)

        def torque(self, time: Any, state: Any, x: Any, **parameters: Any) -> Any:
            e, (integral, last) = self.error(time, x), state.discrete_state
            return s["kp"] * e + (integral + s["ki"] * 1e-3 * e) + s["kd"] * (e - last) / 1e-3

        def update(self, time: Any, state: Any, x: Any, **parameters: Any) -> Any:
            e = self.error(time, x)
            return jnp.array([state.discrete_state[0] + s["ki"] * 1e-3 * e, e])

    builder = jaxonomy.DiagramBuilder()
    joint, controller = builder.add(Joint()), builder.add(Controller())
    builder.connect(joint.output_ports[0], controller.input_ports[0])
    builder.connect(controller.output_ports[0], joint.input_ports[0])
    diagram = builder.build()
    context = diagram.create_context()
    rows = round(1300 * stop) + 100
    options = jaxonomy.SimulatorOptions(
        ode_solver_method="rk4", max_minor_step_size=1e-3, math_backend="jax", max_major_steps=rows, buffer_length=rows
    )
    return lambda: jaxonomy.simulate(
        diagram, context, (0.0, stop), options=options, recorded_signals={"x": joint.output_ports[0]}
    )


def jaxonomy_servo(stop: float) -> tuple[np.ndarray, np.ndarray]:
    """Times, and rows of position and speed."""
    results = jaxonomy_loop(stop)()
    return np.asarray(results.time), np.asarray(results.outputs["x"])


@functools.cache
def drake_loop() -> tuple[Any, Any]:
    """(b) in Drake: the joint as expressions that Drake evaluates in C++, the controller in Python, once a sample."""
    from pydrake.symbolic import Variable, cos, tanh
    from pydrake.systems.framework import DiagramBuilder, LeafSystem
    from pydrake.systems.primitives import LogVectorOutput, SymbolicVectorSystem

    s = SERVO

    class Controller(LeafSystem):
        """Integral, last error and torque are its state."""

        def __init__(self) -> None:
            super().__init__()
            self.motion = self.DeclareVectorInputPort("x", 2)
            state = self.DeclareDiscreteState(3)
            self.DeclarePeriodicDiscreteUpdateEvent(1e-3, 0.0, self.update)
            self.DeclareVectorOutputPort("tau", 1, self.torque, {self.discrete_state_ticket(state)})

        def update(self, context: Any, state: Any) -> None:
            integral, last, _ = context.get_discrete_state_vector().value()
            time, q = context.get_time(), self.motion.Eval(context)[0]
            reference = sum(a * math.sin(2 * math.pi * f * time) for a, f in REFERENCE)
            e = reference - s["resolution"] * math.floor(q / s["resolution"] + 0.5)
            integral += s["ki"] * 1e-3 * e
            state.set_value([integral, e, s["kp"] * e + integral + s["kd"] * (e - last) / 1e-3])

        def torque(self, context: Any, output: Any) -> None:
            output.set_value([context.get_discrete_state_vector().value()[2]])

    q, qd, tau = Variable("q"), Variable("qd"), Variable("tau")
    force = tau - s["Fv"] * qd - s["Fc"] * tanh(100 * qd) - s["G"] * cos(q / 15)
    builder = DiagramBuilder()
    joint = builder.AddSystem(SymbolicVectorSystem(state=[q, qd], input=[tau], dynamics=[qd, force / s["J"]], output=[q, qd]))
    controller = builder.AddSystem(Controller())
    builder.Connect(joint.get_output_port(0), controller.get_input_port(0))
    builder.Connect(controller.get_output_port(0), joint.get_input_port(0))
    log = LogVectorOutput(joint.get_output_port(0), builder, publish_period=1e-3)
    return builder.Build(), log


def drake_servo(stop: float) -> tuple[np.ndarray, np.ndarray]:
    """Times, and rows of position and speed; Drake has no RK4, its third-order method has the same step."""
    from pydrake.systems.analysis import ResetIntegratorFromFlags, Simulator

    diagram, log = drake_loop()
    simulator = Simulator(diagram)
    ResetIntegratorFromFlags(simulator, "runge_kutta3", 1e-3)
    simulator.get_mutable_integrator().set_fixed_step_mode(True)
    simulator.Initialize()
    simulator.AdvanceTo(stop)
    rows = log.FindLog(simulator.get_context())
    return np.array(rows.sample_times()), np.array(rows.data()).T
