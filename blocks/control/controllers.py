"""Controllers of one signal: PID, PD and the cascade of a position and a speed loop. Fed with vectors they act joint by joint."""

from __future__ import annotations

from blocksim.contract.block import Block, inport, memory, outport, param, period, state, static
from blocksim.contract.times import exact
from blocksim.contract.vocabulary import inf, maximum, minimum

from ..basic.linear import elements

__all__ = ["PD", "PID", "CascadePPI"]


def clipped(v, limit):
    """v within the limit, on either side."""
    return minimum(maximum(v, -limit), limit)


def tracking_rate(P, integrating, Tt):
    """How fast the integral is led back, 1/s: 1/Tt, or with Tt = 0 the inverse of the integral time."""
    if Tt > 0.0:
        return 1.0 / Tt
    return abs(integrating / P) if P != 0.0 else 0.0


def filter_time(P, D, Tf):
    """Time constant of a continuous derivative: Tf, or with Tf = 0 a tenth of the derivative time."""
    if Tf > 0.0:
        return Tf
    return abs(0.1 * D / P) if P != 0.0 and D != 0.0 else 1.0


class PD(Block):
    """u = kp e + kd de/dt + ff, within limit: proportional and derivative control.

    de/dt is -qd_hat where a measured or estimated speed is connected: then only the measured motion is differentiated, and a jump
    of the reference gives no kick. Connect qd_hat to qd - qd_ref to follow a reference speed too. Without it e is differentiated:

        sampled (Ts > 0):     d[k] = (Tf d[k-1] + kd (e[k] - e[k-1])) / (Tf + Ts), the backward difference where Tf = 0
        continuous (Ts = 0):  kd s / (Tf s + 1) e; Tf = 0 stands for a tenth of the derivative time kd / kp

    Both start as if e had always been `before`. `form: ideal` is u = kp (e + kd de/dt) + ff, kd in s.
    """

    abstract = True
    family = "control"
    icon = "0,0.9 1,0.9; 0,0 0.12,0 0.3,0.55 0.55,0.7 1,0.72"
    example = """
format: 1
simulate: {stop: 2.0, solver: rk4, step: 1e-3}
blocks:
  ref:   {type: Step, time: 0.1}
  error: {type: Sum, signs: "+-", in: [ref, joint.q]}
  pd:    {type: PD, kp: 0.5, kd: 0.02, limit: 0.6, Ts: 1e-3, in: {e: error, qd_hat: joint.qd}}
  joint: {type: GravityJoint, Ms: 0.0, in: pd}
"""

    kp: float = param(1.0, "proportional gain")
    kd: float = param(0.0, "derivative gain", "s kp")
    Tf: float = param(0.0, "time constant of the derivative's filter", "s", min=0)
    limit: float = param(inf, "largest |u|", above=0, infinite=True)
    form: str = static("parallel", "kp multiplies e alone, or everything", choices=("parallel", "ideal"))
    Ts = period(0, "sample time; 0 acts continuously", optional=True)
    e = inport("error, reference minus measurement")
    qd_hat = inport("measured or estimated speed, taken as -de/dt", optional=True, rate_of="e")
    ff = inport("feedforward, added to u", optional=True, like="u")
    u = outport("control")
    before: float = memory(0.0, "error that the derivative starts from")

    @staticmethod
    def check(kp, kd, Tf, form, Ts):
        return derivative_problem(kp, kd, Tf, form, Ts)

    def variant(self, inputs: int = 1) -> type[Block]:
        return SampledPD if exact(self.settings["Ts"]) else ContinuousPD


class SampledPD(PD):
    """u[k] = kp e[k] + d[k] + ff[k]."""

    sampled = True
    d: float = memory(0.0, "derivative part at the last hit")

    @staticmethod
    def step(e, qd_hat, ff, before, d, kp, kd, Tf, limit, form, Ts, has_qd_hat):
        D = kp * kd if form == "ideal" else kd
        part = -D * qd_hat if has_qd_hat else (Tf * d + D * (e - before)) / (Tf + Ts)
        return clipped(kp * e + part + ff, limit), e, part


class ContinuousPD(PD):
    """u = kp e + kd s / (Tf s + 1) e + ff."""

    before: float = state(0.0, "filtered error")

    @staticmethod
    def output(e, qd_hat, ff, before, kp, kd, Tf, limit, form, has_qd_hat):
        P, D = (1.0, kd) if form == "ideal" else (kp, kd)
        slope = -qd_hat if has_qd_hat else (e - before) / filter_time(P, D, Tf)
        return clipped(kp * e + (kp * kd if form == "ideal" else kd) * slope + ff, limit)

    @staticmethod
    def derivative(e, before, kp, kd, Tf, form, has_qd_hat):
        P = 1.0 if form == "ideal" else kp
        return 0.0 if has_qd_hat else (e - before) / filter_time(P, kd, Tf)


class PID(Block):
    """u = kp e + ki integral(e) + kd de/dt + ff, within limit: the three-term controller.

        sampled (Ts > 0):     i[k] = i[k-1] + ki Ts e[k],  u[k] = kp e[k] + i[k] + d[k] + ff[k]
                              d[k] = (Tf d[k-1] + kd (e[k] - e[k-1])) / (Tf + Ts), the backward difference where Tf = 0
        continuous (Ts = 0):  kp + ki / s + kd s / (Tf s + 1); Tf = 0 stands for a tenth of the derivative time kd / kp

    `form: ideal` is u = kp (e + ki integral(e) + kd de/dt) + ff: ki = 1/Ti in 1/s, kd = Td in s.

    de/dt is -qd_hat where a measured or estimated speed is connected: then only the measured motion is differentiated, and a jump
    of the reference gives no kick. Connect qd_hat to qd - qd_ref to follow a reference speed too.

    Anti-windup by back-calculation: while u is limited the integral is led back by (limited - unlimited) / Tt per second (in the
    sampled form by Ts/Tt of the difference, at most all of it). Tt = 0 stands for the integral time kp / ki. Where something
    behind the controller limits or replaces u (an actuator, a manual mode behind a Switch), connect what is really applied to
    `track`: the integral follows it, and taking over again makes no bump. The derivative starts as if e had always been `before`,
    the integral from `integral`: give it the load to start without a bump.
    """

    abstract = True
    family = "control"
    icon = "0,0.7 1,0.7; 0,0 0.1,0 0.25,0.8 0.35,1 0.5,0.6 0.65,0.76 0.8,0.68 1,0.7"
    example = """
format: 1
simulate: {stop: 2.0, solver: rk4, step: 1e-3}
blocks:
  ref:     {type: Step, time: 0.1}
  error:   {type: Sum, signs: "+-", in: [ref, encoder]}
  pid:     {type: PID, kp: 0.5, ki: 1.0, kd: 0.02, Tf: 2e-3, limit: 0.6, Ts: 1e-3, in: error}
  joint:   {type: GravityJoint, in: pid}
  encoder: {type: Encoder, counts_per_turn: 2000, Ts: 1e-3, in: joint.q}
"""

    kp: float = param(1.0, "proportional gain")
    ki: float = param(0.0, "integral gain", "kp/s")
    kd: float = param(0.0, "derivative gain", "s kp")
    Tf: float = param(0.0, "time constant of the derivative's filter", "s", min=0)
    limit: float = param(inf, "largest |u|", above=0, infinite=True)
    Tt: float = param(0.0, "time in which the integral is led back while u is limited; 0: kp/ki", "s", min=0)
    form: str = static("parallel", "kp multiplies e alone, or everything", choices=("parallel", "ideal"))
    Ts = period(0, "sample time; 0 acts continuously", optional=True)
    e = inport("error, reference minus measurement")
    qd_hat = inport("measured or estimated speed, taken as -de/dt", optional=True, rate_of="e")
    ff = inport("feedforward, added to u", optional=True, like="u")
    track = inport("what is really applied, where that is not u", optional=True, like="u")
    u = outport("control")
    integral: float = memory(0.0, "integral part")
    before: float = memory(0.0, "error that the derivative starts from")

    @staticmethod
    def check(kp, ki, kd, Tf, Tt, limit, form, Ts):
        return derivative_problem(kp, kd, Tf, form, Ts) or windup_problem(kp, ki, Tt, limit, form)

    def variant(self, inputs: int = 1) -> type[Block]:
        return SampledPID if exact(self.settings["Ts"]) else ContinuousPID


class SampledPID(PID):
    """u[k] = kp e[k] + i[k] + d[k] + ff[k]; after the outputs the integral is led back by what was cut off."""

    sampled = True
    d: float = memory(0.0, "derivative part at the last hit")

    @staticmethod
    def output(e, qd_hat, ff, integral, before, d, kp, ki, kd, Tf, limit, form, Ts, has_qd_hat):
        I_gain, D = (kp * ki, kp * kd) if form == "ideal" else (ki, kd)
        part = -D * qd_hat if has_qd_hat else (Tf * d + D * (e - before)) / (Tf + Ts)
        return clipped(kp * e + (integral + I_gain * Ts * e) + part + ff, limit)

    @staticmethod
    def update(e, qd_hat, ff, track, integral, before, d, kp, ki, kd, Tf, limit, Tt, form, Ts, has_qd_hat, has_track):
        I_gain, D = (kp * ki, kp * kd) if form == "ideal" else (ki, kd)
        part = -D * qd_hat if has_qd_hat else (Tf * d + D * (e - before)) / (Tf + Ts)
        following = integral + I_gain * Ts * e
        v = kp * e + following + part + ff
        applied = track if has_track else clipped(v, limit)
        share = minimum(tracking_rate(kp, I_gain, Tt) * Ts, 1.0)
        return following + share * (applied - v), e, part


class ContinuousPID(PID):
    """u = (kp + ki / s + kd s / (Tf s + 1)) e + ff, the integral led back by what was cut off."""

    integral: float = state(0.0, "integral part")
    before: float = state(0.0, "filtered error")

    @staticmethod
    def output(e, qd_hat, ff, integral, before, kp, kd, Tf, limit, form, has_qd_hat):
        P = 1.0 if form == "ideal" else kp
        slope = -qd_hat if has_qd_hat else (e - before) / filter_time(P, kd, Tf)
        return clipped(kp * e + integral + (kp * kd if form == "ideal" else kd) * slope + ff, limit)

    @staticmethod
    def derivative(e, qd_hat, ff, track, integral, before, kp, ki, kd, Tf, limit, Tt, form, has_qd_hat, has_track):
        P = 1.0 if form == "ideal" else kp
        rise = (e - before) / filter_time(P, kd, Tf)
        slope = -qd_hat if has_qd_hat else rise
        v = kp * e + integral + (kp * kd if form == "ideal" else kd) * slope + ff
        applied = track if has_track else clipped(v, limit)
        I_gain = kp * ki if form == "ideal" else ki
        return I_gain * e + tracking_rate(kp, I_gain, Tt) * (applied - v), 0.0 if has_qd_hat else rise


class CascadePPI(Block):
    """w = kp (q_ref - q) + qd_ref - qd, u = kv (w + ki integral(w)) + ff, within limit: a speed loop within a position loop.

    With ki = 0 it is the loop of the EMPS, v = kv (kp (q_ref - q) - qd). Where qd is open it is the derivative of q:

        sampled (Ts > 0):     (q[k] - q[k-span]) / (span Ts); before the first hit q is taken to have moved with qd0
        continuous (Ts = 0):  s / (Tf s + 1) q, which starts as if q had always been `x`

    In the sampled form the integral counts the present sample, as in PID. While u is limited it is led back as there, with
    Tt = 0 standing for the integral time 1 / ki.
    """

    abstract = True
    family = "control"
    icon = "0,0.85 1,0.85; 0.9,0.85 0.9,0 0.1,0 0.1,0.85; 0.7,0.85 0.7,0.4 0.35,0.4 0.35,0.85"
    example = """
format: 1
simulate: {stop: 4.0, solver: rk4, step: 1e-3}
blocks:
  ref:  {type: TrapezoidTrajectory, points: [0.0, 0.2, 0.0], speed: 0.2, acceleration: 1.0}
  loop: {type: CascadePPI, kp: 160.18, kv: 243.45, span: 2, limit: 10.0, Ts: 1e-3, in: {q_ref: ref.q, q: emps.q}}
  emps: {type: ElectroMechanicalPositioner, in: loop}
"""

    kp: float = param(1.0, "gain of the position loop", "1/s")
    kv: float = param(1.0, "gain of the speed loop")
    ki: float = param(0.0, "integral of the speed loop: the inverse of its integral time", "1/s", min=0)
    limit: float = param(inf, "largest |u|", above=0, infinite=True)
    Tt: float = param(0.0, "time in which the integral is led back while u is limited; 0: 1/ki", "s", min=0)
    Tf: float = param(1e-3, "time constant of the derivative where qd is open and Ts = 0", "s", above=0)
    qd0: float = param(0.0, "speed before the first hit, where qd is open and Ts > 0", "rad/s or m/s")
    span: int = static(1, "samples across which q is differentiated where qd is open", choices=(1, 2))
    Ts = period(0, "sample time; 0 acts continuously", optional=True)
    q_ref = inport("wanted position", "rad or m")
    q = inport("measured position", "rad or m")
    qd = inport("measured or estimated speed", "rad/s or m/s", optional=True)
    qd_ref = inport("wanted speed, for a smaller lag", "rad/s or m/s", optional=True)
    ff = inport("feedforward, added to u", optional=True, like="u")
    u = outport("control")
    integral: float = memory(0.0, "integral part")
    x: float = memory(0.0, "filtered position, where qd is open and Ts = 0", "rad or m")

    def variant(self, inputs: int = 1) -> type[Block]:
        return SampledCascade if exact(self.settings["Ts"]) else ContinuousCascade


class SampledCascade(CascadePPI):
    """u[k] = kv w[k] + i[k] + ff[k], i[k] = i[k-1] + kv ki Ts w[k]."""

    sampled = True
    q1: float = memory(0.0, "position at the last hit, once there was one")
    q2: float = memory(0.0, "position at the hit before")
    started: float = memory(0.0, "0 until the first hit")

    @staticmethod
    def step(q_ref, q, qd, qd_ref, ff, integral, x, q1, q2, started, kp, kv, ki, limit, Tt, qd0, span, Ts, has_qd):
        last = q1 if started > 0.0 else q - qd0 * Ts
        earlier = q2 if started > 0.0 else q - 2.0 * qd0 * Ts
        speed = qd if has_qd else (q - last) / Ts if span == 1 else (q - earlier) / (2.0 * Ts)
        w = kp * (q_ref - q) + qd_ref - speed
        following = integral + kv * ki * Ts * w
        v = kv * w + following + ff
        u = clipped(v, limit)
        share = minimum(tracking_rate(1.0, ki, Tt) * Ts, 1.0)
        return u, following + share * (u - v), x, q, last, 1.0


class ContinuousCascade(CascadePPI):
    """u = kv (1 + ki / s) w + ff, the integral led back by what was cut off."""

    integral: float = state(0.0, "integral part")
    x: float = state(0.0, "filtered position", "rad or m")

    @staticmethod
    def output(q_ref, q, qd, qd_ref, ff, integral, x, kp, kv, Tf, limit, has_qd):
        w = kp * (q_ref - q) + qd_ref - (qd if has_qd else (q - x) / Tf)
        return clipped(kv * w + integral + ff, limit)

    @staticmethod
    def derivative(q_ref, q, qd, qd_ref, ff, integral, x, kp, kv, ki, limit, Tt, Tf, has_qd):
        rise = (q - x) / Tf
        w = kp * (q_ref - q) + qd_ref - (qd if has_qd else rise)
        v = kv * w + integral + ff
        return kv * ki * w + tracking_rate(1.0, ki, Tt) * (clipped(v, limit) - v), 0.0 if has_qd else rise


def derivative_problem(kp: float, kd: float, Tf: float, form: str, Ts: object) -> str | None:
    """What is wrong with a derivative that nothing filters."""
    proper = exact(Ts) or form == "ideal" or all(Tf > 0 for Tf in elements(Tf)) or all(k == 0 for k in elements(kd))
    if proper or all(k != 0 for k in elements(kp)):
        return None
    return "Tf: with kp = 0 a continuous derivative has no filter of its own; give Tf, or a sample time Ts."


def windup_problem(kp: float, ki: float, Tt: float, limit: float, form: str) -> str | None:
    """What is wrong with an integral that nothing leads back."""
    free = all(value == inf for value in elements(limit)) or all(k == 0 for k in elements(ki))
    if free or form == "ideal" or all(k != 0 for k in elements(kp)) or all(T > 0 for T in elements(Tt)):
        return None
    return "Tt: with kp = 0 there is no integral time to lead the integral back in; give Tt."
