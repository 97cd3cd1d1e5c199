// Tab with the events of a job.
