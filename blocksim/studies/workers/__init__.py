"""How the runs of a study are spread: batches of runs, processes of this machine, a Dask cluster."""
