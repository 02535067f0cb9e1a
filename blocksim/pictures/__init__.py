"""What people look at: plots of records, estimates and sources here, the drawn diagram in `diagram/`.

Imports the rooms up to `running`.
"""
