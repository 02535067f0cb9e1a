"""What happens when: subsystems expanded, sizes and units settled, exact ticks, feedthrough order, what is logged.

Imports `contract` and `diagram`.
"""
