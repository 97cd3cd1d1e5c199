"""Prints the processor time of one get of a job by the official SDK, in microseconds."""

import sys
import time

from huaweicloudsdkcore.auth.credentials import BasicCredentials
from huaweicloudsdkmodelarts.v1 import ModelArtsClient
from huaweicloudsdkmodelarts.v1 import ShowTrainingJobDetailsRequest as Request

url, project, job_id = sys.argv[1:]
credentials = BasicCredentials("access", "secret", project)
builder = ModelArtsClient.new_builder().with_credentials(credentials)
client = builder.with_endpoints([url]).build()
CALLS = 500
for warm_up in (True, False):
    begin = time.process_time()
    for _ in range(CALLS):
        job = client.show_training_job_details(Request(training_job_id=job_id))
        assert job.metadata.name == "leaves"
    spent = time.process_time() - begin
print(spent / CALLS * 1e6)
