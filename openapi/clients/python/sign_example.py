"""Signs the worked example of openapi/README.md, and prints the header."""

from sign import authorization

PROJECT = "0123456789abcdef0123456789abcdef"
HOST = "modelarts.eu-de.otc.t-systems.com"
JOB = "3faf5c03-aaa1-4cbe-879d-24b05d997347"

print(
    "Authorization:",
    authorization(
        "AKTESTEXAMPLE0000001",
        "SKTESTexampleSecretKey00000000000000001",
        "GET",
        f"https://{HOST}/v2/{PROJECT}/training-jobs/{JOB}/events"
        "?offset=0&limit=50&order=desc&start_time=1669449696964&end_time=1669711991259&level=Error",
        {
            "content-type": "application/json",
            "host": HOST,
            "x-project-id": PROJECT,
            "x-sdk-date": "20260115T083045Z",
        },
        b"",
    ),
)
