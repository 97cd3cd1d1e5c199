module modelarts-first-job

go 1.19
