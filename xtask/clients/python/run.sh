openapi-generator-cli generate -g python -i ../../$DESCRIPTION -o generated $OPTIONS
python3 -m venv .venv
.venv/bin/pip install -r requirements.txt
PYTHONPATH=generated .venv/bin/python first_job.py
