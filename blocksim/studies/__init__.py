"""Many runs at once: the study file, its plan, batches on cores or a cluster, the store, scores, tables, figures, the report.

Imports the rooms up to `pictures`.
"""
