"""What an output error is made of: free parameters, the trial of a record, the search and its starts, and the report."""
