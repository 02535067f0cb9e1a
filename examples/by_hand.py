"""Stepping by hand: a simulation that waits for Python between its sample hits.

python examples/by_hand.py
"""

import blocksim as bs

# The loop is closed here, outside: a heater as a Constant that Python drives, a room, a thermometer read every second.
room = bs.Diagram("Room")
room.add("heater", "Constant", value=0.0)
room.add("air", "FirstOrderLag", inputs="heater", k=0.02, T=300, x=12.0)
room.add("thermometer", "ZeroOrderHold", inputs="air", Ts=1)

sim = room.start(stop=1800, solver="rk4", step=0.5)
power, switches = 0.0, 0
sim.step()  # the first hit is at t = 0
while sim.t < 1800:
    temperature = sim.get("thermometer")
    wanted = 1500.0 if temperature < 19.5 else 0.0 if temperature > 20.5 else power
    if wanted != power:
        power, switches = wanted, switches + 1
        sim.set_input("heater", power)
    if sim.t == 900:
        sim.set("air.k", 0.018)  # somebody opens a window: any parameter may change on the way
    sim.step()  # to the next sample hit; sim.step(10) carries on for ten seconds

record = sim.record()
late = record.between(600, 1800)["air"]
print(f"{switches} switches; from ten minutes on the room stays within {late.min():.2f} and {late.max():.2f} degrees")
