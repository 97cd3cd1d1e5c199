// Tab with the logs of a job.
