-- A database of layout 3: that of layout 2, with the tables of OBS and a row in each.
-- One job that ran on two nodes, a search with three trials, a job that waits for three nodes.
-- As SQL: CREATE and INSERT statements; job_names, which has no content of its own, filled from jobs.

CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE projects (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE);
CREATE TABLE job_groups (
    number INTEGER PRIMARY KEY,
    project INTEGER NOT NULL,
    workspace TEXT NOT NULL,
    user_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    runtime TEXT NOT NULL,
    phase TEXT NOT NULL,
    jobs INTEGER NOT NULL DEFAULT 0,
    UNIQUE (project, workspace, user_id, kind, runtime, phase)
);
CREATE TABLE tallies (
    job_group INTEGER NOT NULL,
    level INTEGER NOT NULL,
    span INTEGER NOT NULL,
    jobs INTEGER NOT NULL,
    PRIMARY KEY (job_group, level, span)
) WITHOUT ROWID;
CREATE TABLE jobs (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    project INTEGER NOT NULL,
    job_group INTEGER NOT NULL,
    created INTEGER NOT NULL,
    name TEXT NOT NULL,
    algorithm TEXT NOT NULL,
    experiment TEXT NOT NULL,
    -- What the addresses of its workers have in common, once it has been on its nodes, and their number.
    network INTEGER,
    nodes INTEGER NOT NULL,
    -- Something is still to happen to it: the next start goes on with it.
    open INTEGER NOT NULL,
    UNIQUE (project, name)
);
CREATE INDEX jobs_by_time ON jobs (job_group, created);
CREATE INDEX jobs_by_experiment ON jobs (experiment) WHERE experiment <> '';
CREATE INDEX jobs_by_network ON jobs (network) WHERE network IS NOT NULL;
CREATE INDEX open_jobs ON jobs (number) WHERE open;
CREATE VIRTUAL TABLE job_names USING fts5 (
    name, algorithm, content = '', contentless_delete = 1, tokenize = 'trigram case_sensitive 1'
);
CREATE TABLE requests (job INTEGER PRIMARY KEY, request TEXT NOT NULL);
CREATE TABLE states (job INTEGER PRIMARY KEY, state TEXT NOT NULL);
CREATE TABLE trials (
    job INTEGER NOT NULL,
    place INTEGER NOT NULL,
    trial TEXT NOT NULL,
    PRIMARY KEY (job, place)
) WITHOUT ROWID;
CREATE TABLE events (
    job INTEGER NOT NULL,
    place INTEGER NOT NULL,
    time INTEGER NOT NULL,
    kind TEXT NOT NULL,
    PRIMARY KEY (job, place)
) WITHOUT ROWID;
CREATE TABLE tags (
    job INTEGER NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (job, key)
) WITHOUT ROWID;
CREATE INDEX tags_by_key ON tags (key, value);
CREATE TABLE series (number INTEGER PRIMARY KEY, pod TEXT NOT NULL UNIQUE, start INTEGER NOT NULL);
CREATE TABLE minutes (
    series INTEGER NOT NULL,
    minute INTEGER NOT NULL,
    samples INTEGER NOT NULL,
    cpu REAL NOT NULL,
    memory REAL NOT NULL,
    PRIMARY KEY (series, minute)
) WITHOUT ROWID;
CREATE TABLE given_metrics (pod TEXT PRIMARY KEY, minutes TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE records (
    number INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    project TEXT NOT NULL,
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    UNIQUE (kind, project, name),
    UNIQUE (kind, project, id)
);
CREATE TABLE quotas (
    project TEXT NOT NULL,
    resource TEXT NOT NULL,
    quota INTEGER NOT NULL,
    PRIMARY KEY (project, resource)
) WITHOUT ROWID;
CREATE TABLE tokens (
    token TEXT PRIMARY KEY,
    user_name TEXT NOT NULL,
    domain TEXT NOT NULL,
    project TEXT NOT NULL,
    expires INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE keys (
    access_key TEXT PRIMARY KEY,
    secret_key TEXT NOT NULL,
    security_token TEXT NOT NULL,
    user_name TEXT NOT NULL,
    domain TEXT NOT NULL,
    project TEXT NOT NULL,
    expires INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE obs_objects (
    bucket TEXT NOT NULL,
    key TEXT NOT NULL,
    size INTEGER NOT NULL,
    modified INTEGER NOT NULL,
    inode INTEGER NOT NULL,
    etag TEXT NOT NULL,
    headers TEXT NOT NULL,
    PRIMARY KEY (bucket, key)
) WITHOUT ROWID;
CREATE TABLE obs_uploads (
    id TEXT PRIMARY KEY,
    bucket TEXT NOT NULL,
    key TEXT NOT NULL,
    started INTEGER NOT NULL,
    headers TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE obs_parts (
    upload TEXT NOT NULL,
    part INTEGER NOT NULL,
    size INTEGER NOT NULL,
    etag TEXT NOT NULL,
    modified INTEGER NOT NULL,
    PRIMARY KEY (upload, part)
) WITHOUT ROWID;
INSERT INTO settings (name, value) VALUES ('project_id', 'e416d2aa7fc0496392f809f057a1c7f2');
INSERT INTO projects (number, id) VALUES (1, 'p');
INSERT INTO job_groups (number, project, workspace, user_id, kind, runtime, phase, jobs) VALUES (1, 1, '0', '0000000000000000656d756c61746f72', 'job', '', 'Creating', 0);
INSERT INTO job_groups (number, project, workspace, user_id, kind, runtime, phase, jobs) VALUES (2, 1, '0', '0000000000000000656d756c61746f72', 'job', '', 'Pending', 1);
INSERT INTO job_groups (number, project, workspace, user_id, kind, runtime, phase, jobs) VALUES (3, 1, '0', '0000000000000000656d756c61746f72', 'job', '', 'Running', 0);
INSERT INTO job_groups (number, project, workspace, user_id, kind, runtime, phase, jobs) VALUES (4, 1, '0', '0000000000000000656d756c61746f72', 'job', '', 'Completed', 2);
INSERT INTO tallies (job_group, level, span, jobs) VALUES (2, 10, 1753288511, 1);
INSERT INTO tallies (job_group, level, span, jobs) VALUES (2, 16, 27395132, 1);
INSERT INTO tallies (job_group, level, span, jobs) VALUES (2, 22, 428048, 1);
INSERT INTO tallies (job_group, level, span, jobs) VALUES (2, 28, 6688, 1);
INSERT INTO tallies (job_group, level, span, jobs) VALUES (2, 34, 104, 1);
INSERT INTO tallies (job_group, level, span, jobs) VALUES (4, 10, 1753288510, 1);
INSERT INTO tallies (job_group, level, span, jobs) VALUES (4, 10, 1753288511, 1);
INSERT INTO tallies (job_group, level, span, jobs) VALUES (4, 16, 27395132, 2);
INSERT INTO tallies (job_group, level, span, jobs) VALUES (4, 22, 428048, 2);
INSERT INTO tallies (job_group, level, span, jobs) VALUES (4, 28, 6688, 2);
INSERT INTO tallies (job_group, level, span, jobs) VALUES (4, 34, 104, 2);
INSERT INTO jobs (number, id, project, job_group, created, name, algorithm, experiment, network, nodes, open) VALUES (1, '98811a6b-9b60-493b-8ddd-c64a6fd7118f', 1, 4, 1795367434949, 'plain', '', '', 39297, 2, 0);
INSERT INTO jobs (number, id, project, job_group, created, name, algorithm, experiment, network, nodes, open) VALUES (2, '9353beaa-4aea-4658-a3d2-faea42f2f045', 1, 4, 1795367435457, 'search', '', '', 37971, 1, 0);
INSERT INTO jobs (number, id, project, job_group, created, name, algorithm, experiment, network, nodes, open) VALUES (3, 'c27d3560-6c4c-4851-b6c2-7baa6ca43afc', 1, 2, 1795367436168, 'waits', '', '', NULL, 3, 1);
INSERT INTO requests (job, request) VALUES (1, '{"algorithm":{"command":"echo done","engine":{"image_url":"org/image:1"},"environments":{"MODE":"fast"}},"kind":"job","metadata":{"description":"two nodes","name":"plain"},"spec":{"resource":{"flavor_id":"modelarts.vm.cpu.8u","node_count":2}}}');
INSERT INTO requests (job, request) VALUES (2, '{"algorithm":{"boot_file":"obs://bucket/code/train.py","code_dir":"obs://bucket/code/","engine":{"engine_name":"PyTorch","engine_version":"pytorch_1.8.0"},"outputs":[{"name":"train_url","remote":{"obs":{"obs_url":"/bucket/out/"}}}],"parameters":[{"name":"x","value":"1"}],"policies":{"auto_search":{"algo_configs":[{"name":"tpe_search","params":[{"key":"num_samples","type":"Integer","value":"3"},{"key":"n_initial_points","type":"Integer","value":"2"},{"key":"max_concurrent","type":"Integer","value":"1"}]}],"reward_attrs":[{"mode":"min","name":"loss","regex":"loss=([\\d.e-]+)"}],"search_params":[{"lower_bound":"0","name":"x","param_type":"continuous","upper_bound":"10"}]}}},"kind":"job","metadata":{"name":"search"},"spec":{"resource":{"flavor_id":"modelarts.vm.cpu.8u"}}}');
INSERT INTO requests (job, request) VALUES (3, '{"algorithm":{"command":"true","engine":{"image_url":"org/image:1"}},"kind":"job","metadata":{"name":"waits"},"spec":{"resource":{"flavor_id":"modelarts.vm.cpu.8u","node_count":3}}}');
INSERT INTO states (job, state) VALUES (1, '{"id":"98811a6b-9b60-493b-8ddd-c64a6fd7118f","project":"p","user_id":"0000000000000000656d756c61746f72","user_name":"emulator","tags":{"team":"blue"},"description":"two nodes","priority":1,"preemptible":false,"schedule_count":1,"restarts":0,"created":1795367434949,"state":"Completed","started":1795367434000,"ended":1795367435000,"nodes":[[1795367434000,0],[1795367434000,2],[1795367435000,2]],"failure":null,"records":[{"start":1795367434000,"restarted":false,"end":{"at":1795367435062,"reason":"job completed","task":null,"recover":null}}],"settled":true,"deleted":false,"standing":false}');
INSERT INTO states (job, state) VALUES (2, '{"id":"9353beaa-4aea-4658-a3d2-faea42f2f045","project":"p","user_id":"0000000000000000656d756c61746f72","user_name":"emulator","tags":{},"description":"","priority":1,"preemptible":false,"schedule_count":1,"restarts":0,"created":1795367435457,"state":"Completed","started":1795367435000,"ended":1795367435000,"nodes":[[1795367435000,0],[1795367435000,1]],"failure":null,"records":[{"start":1795367435000,"restarted":false,"end":{"at":1795367435792,"reason":"job completed","task":null,"recover":null}}],"settled":true,"deleted":false,"standing":false}');
INSERT INTO states (job, state) VALUES (3, '{"id":"c27d3560-6c4c-4851-b6c2-7baa6ca43afc","project":"p","user_id":"0000000000000000656d756c61746f72","user_name":"emulator","tags":{},"description":"","priority":1,"preemptible":false,"schedule_count":1,"restarts":0,"created":1795367436168,"state":"Queuing","started":null,"ended":null,"nodes":[[1795367436000,0]],"failure":null,"records":[],"settled":true,"deleted":false,"standing":false}');
INSERT INTO trials (job, place, trial) VALUES (2, 0, '{"id":"7bbe3afe","index":0,"pid":4005,"values":{"x":6.570395114166052},"status":"Terminated","started":1795367435464,"ended":1795367435593,"iterations":1,"reports":[{"at":1795367435593,"iteration":1,"texts":["6.570395114166052"],"best":6.570395114166052}],"stop":false}');
INSERT INTO trials (job, place, trial) VALUES (2, 1, '{"id":"4855ab2e","index":1,"pid":4006,"values":{"x":5.346159873685892},"status":"Terminated","started":1795367435593,"ended":1795367435682,"iterations":1,"reports":[{"at":1795367435682,"iteration":1,"texts":["5.346159873685892"],"best":5.346159873685892}],"stop":false}');
INSERT INTO trials (job, place, trial) VALUES (2, 2, '{"id":"c3f3e2c6","index":2,"pid":4007,"values":{"x":3.451035575822265},"status":"Terminated","started":1795367435682,"ended":1795367435790,"iterations":1,"reports":[{"at":1795367435789,"iteration":1,"texts":["3.451035575822265"],"best":3.451035575822265}],"stop":false}');
INSERT INTO events (job, place, time, kind) VALUES (1, 1, 1795367434949, '"Created"');
INSERT INTO events (job, place, time, kind) VALUES (1, 2, 1795367434950, '"Queuing"');
INSERT INTO events (job, place, time, kind) VALUES (1, 3, 1795367434950, '{"PodPulled":{"pod":"modelarts-job-98811a6b-9b60-493b-8ddd-c64a6fd7118f-worker-0","image":"org/image:1"}}');
INSERT INTO events (job, place, time, kind) VALUES (1, 4, 1795367434950, '{"PodCreated":{"pod":"modelarts-job-98811a6b-9b60-493b-8ddd-c64a6fd7118f-worker-0"}}');
INSERT INTO events (job, place, time, kind) VALUES (1, 5, 1795367434950, '{"PodStarted":{"pod":"modelarts-job-98811a6b-9b60-493b-8ddd-c64a6fd7118f-worker-0"}}');
INSERT INTO events (job, place, time, kind) VALUES (1, 6, 1795367434950, '{"PodPulled":{"pod":"modelarts-job-98811a6b-9b60-493b-8ddd-c64a6fd7118f-worker-1","image":"org/image:1"}}');
INSERT INTO events (job, place, time, kind) VALUES (1, 7, 1795367434950, '{"PodCreated":{"pod":"modelarts-job-98811a6b-9b60-493b-8ddd-c64a6fd7118f-worker-1"}}');
INSERT INTO events (job, place, time, kind) VALUES (1, 8, 1795367434950, '{"PodStarted":{"pod":"modelarts-job-98811a6b-9b60-493b-8ddd-c64a6fd7118f-worker-1"}}');
INSERT INTO events (job, place, time, kind) VALUES (1, 9, 1795367434950, '"Running"');
INSERT INTO events (job, place, time, kind) VALUES (1, 10, 1795367434951, '{"TaskStarted":{"task":"worker-0"}}');
INSERT INTO events (job, place, time, kind) VALUES (1, 11, 1795367435039, '{"TaskStarted":{"task":"worker-1"}}');
INSERT INTO events (job, place, time, kind) VALUES (1, 12, 1795367435050, '{"TaskFinished":{"task":"worker-0","exit_code":0}}');
INSERT INTO events (job, place, time, kind) VALUES (1, 13, 1795367435058, '{"TaskFinished":{"task":"worker-1","exit_code":0}}');
INSERT INTO events (job, place, time, kind) VALUES (1, 14, 1795367435062, '"Completed"');
INSERT INTO events (job, place, time, kind) VALUES (1, 15, 1795367435063, '"Billed"');
INSERT INTO events (job, place, time, kind) VALUES (2, 1, 1795367435457, '"Created"');
INSERT INTO events (job, place, time, kind) VALUES (2, 2, 1795367435463, '"Queuing"');
INSERT INTO events (job, place, time, kind) VALUES (2, 3, 1795367435463, '{"PodPulled":{"pod":"modelarts-job-9353beaa-4aea-4658-a3d2-faea42f2f045-worker-0","image":"pytorch_1.8.0"}}');
INSERT INTO events (job, place, time, kind) VALUES (2, 4, 1795367435463, '{"PodCreated":{"pod":"modelarts-job-9353beaa-4aea-4658-a3d2-faea42f2f045-worker-0"}}');
INSERT INTO events (job, place, time, kind) VALUES (2, 5, 1795367435463, '{"PodStarted":{"pod":"modelarts-job-9353beaa-4aea-4658-a3d2-faea42f2f045-worker-0"}}');
INSERT INTO events (job, place, time, kind) VALUES (2, 6, 1795367435463, '{"CodeDownloading":{"task":"worker-0"}}');
INSERT INTO events (job, place, time, kind) VALUES (2, 7, 1795367435464, '{"CodeDownloaded":{"task":"worker-0","seconds":0.001}}');
INSERT INTO events (job, place, time, kind) VALUES (2, 8, 1795367435464, '"Running"');
INSERT INTO events (job, place, time, kind) VALUES (2, 9, 1795367435464, '{"TaskStarted":{"task":"worker-0"}}');
INSERT INTO events (job, place, time, kind) VALUES (2, 10, 1795367435791, '{"TaskFinished":{"task":"worker-0","exit_code":0}}');
INSERT INTO events (job, place, time, kind) VALUES (2, 11, 1795367435791, '{"OutputUploading":{"task":"worker-0","parameter":"train_url"}}');
INSERT INTO events (job, place, time, kind) VALUES (2, 12, 1795367435791, '{"OutputUploaded":{"task":"worker-0","seconds":0.0,"parameter":"train_url"}}');
INSERT INTO events (job, place, time, kind) VALUES (2, 13, 1795367435792, '"Completed"');
INSERT INTO events (job, place, time, kind) VALUES (2, 14, 1795367435792, '"Billed"');
INSERT INTO events (job, place, time, kind) VALUES (3, 1, 1795367436168, '"Created"');
INSERT INTO events (job, place, time, kind) VALUES (3, 2, 1795367436168, '"Queuing"');
INSERT INTO tags (job, key, value) VALUES (1, 'team', 'blue');
INSERT INTO records (number, kind, project, id, name, value) VALUES (1, 'experiment', 'p', '394baa8d-3351-4f78-9a35-138e9dfae449', 'group', '{"create_time":1795367434948,"description":"of two","id":"394baa8d-3351-4f78-9a35-138e9dfae449","name":"group","update_time":1795367434948,"workspace_id":"0"}');
INSERT INTO job_names (rowid, name, algorithm) SELECT number, name, algorithm FROM jobs;
PRAGMA user_version = 3;
INSERT INTO obs_objects VALUES ('bucket', 'a/b', 5, 1700000000000000000, 42, '5d41402abc4b2a76b9719d911017c592', '{"content_type":"text/plain"}');
INSERT INTO obs_uploads VALUES ('0123456789abcdef0123456789abcdef', 'bucket', 'a/c', 1700000000000, '{}');
INSERT INTO obs_parts VALUES ('0123456789abcdef0123456789abcdef', 1, 5, '5d41402abc4b2a76b9719d911017c592', 1700000000000);
