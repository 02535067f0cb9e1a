"""Our own solvers: the coefficients of one-step methods, as published."""

from __future__ import annotations

from .tableau import Rosenbrock, Tableau, numbers, rows

EULER = Tableau("euler", 1, numbers("0"), rows(""), numbers("1"), when="to compare with a textbook; never for accuracy")
HEUN = Tableau(
    "heun", 2, numbers("0 1"), rows("", "1"), numbers("1/2 1/2"), when="cheap steps of a loop that is sampled fast anyway"
)
RK4 = Tableau(
    "rk4",
    4,
    numbers("0 1/2 1/2 1"),
    rows("", "1/2", "0 1/2", "0 0 1"),
    numbers("1/6 1/3 1/3 1/6"),
    when="sampled loops: one step per sample, the same work every time",
)
DOPRI5 = Tableau(
    "dopri5",
    5,
    numbers("0 1/5 3/10 4/5 8/9 1 1"),
    rows(
        "",
        "1/5",
        "3/40 9/40",
        "44/45 -56/15 32/9",
        "19372/6561 -25360/2187 64448/6561 -212/729",
        "9017/3168 -355/33 46732/5247 49/176 -5103/18656",
        "35/384 0 500/1113 125/192 -2187/6784 11/84",
    ),
    numbers("35/384 0 500/1113 125/192 -2187/6784 11/84 0"),
    e=numbers("71/57600 0 -71/16695 71/1920 -17253/339200 22/525 -1/40"),
    d=numbers(
        "-12715105075/11282082432 0 87487479700/32700410799 -10690763975/1880347072 701980252875/199316789632 "
        "-1453857185/822651844 69997945/29380423"
    ),
    when="smooth systems, and the default: error control, dense output, located events",
)
RODAS4 = Rosenbrock(
    "rodas4",
    4,
    0.25,
    a=(
        (),
        (1.544,),
        (0.9466785280815826, 0.2557011698983284),
        (3.314825187068521, 2.896124015972201, 0.9986419139977817),
        (1.221224509226641, 6.019134481288629, 12.53708332932087, -0.6878860361058950),
    ),
    c=(
        (),
        (-5.6688,),
        (-2.430093356833875, -0.2063599157091915),
        (-0.1073529058151375, -9.594562251023355, -20.47028614809616),
        (7.496443313967647, -10.24680431464352, -33.99990352819905, 11.70890893206160),
        (8.083246795921522, -7.981132988064893, -31.52159432874371, 16.31930543123136, -6.058818238834054),
    ),
    alpha=(0.0, 0.386, 0.21, 0.63, 1.0, 1.0),
    drift=(0.25, -0.1043, 0.1035, -0.03620000000000023, 0.0, 0.0),
    dense=(
        (10.12623508344586, -7.487995877610167, -34.80091861555747, -7.992771707568823, 1.025137723295662),
        (-0.6762803392806898, 6.087714651680015, 16.43084320892478, 24.76722511418386, -6.594389125716872),
    ),
    when="stiff systems: fast modes that have died out but still limit an explicit method's step",
)
OWN = {method.name: method for method in (EULER, HEUN, RK4, DOPRI5, RODAS4)}
