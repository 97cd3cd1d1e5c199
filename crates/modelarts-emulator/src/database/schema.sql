-- The layout of state.sqlite3. Every change requires a new value of LAYOUT in mod.rs, so that the
-- emulator refuses existing files.

CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE projects (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE);

-- Groups of jobs with the same properties. Their number is small, so that lists first select groups
-- and use their counts: see listing.rs.
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

-- Number of jobs of a group that were created in a span of time: see creation_counts.rs.
CREATE TABLE tallies (
    job_group INTEGER NOT NULL,
    span INTEGER NOT NULL,
    jobs INTEGER NOT NULL,
    PRIMARY KEY (job_group, span)
) WITHOUT ROWID;

-- Numbers are in the order of creation. Large values are in separate tables.
CREATE TABLE jobs (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    project INTEGER NOT NULL,
    job_group INTEGER NOT NULL,
    created INTEGER NOT NULL,
    name TEXT NOT NULL,
    algorithm TEXT NOT NULL,
    experiment TEXT NOT NULL,
    -- Common part of the addresses of the workers, NULL before the first run; number of workers.
    network INTEGER,
    nodes INTEGER NOT NULL,
    -- 1 if the job is not settled, or is being deleted: the next start continues it.
    open INTEGER NOT NULL,
    UNIQUE (project, name)
);
CREATE INDEX jobs_by_time ON jobs (job_group, created);
CREATE INDEX jobs_by_experiment ON jobs (experiment) WHERE experiment <> '';
CREATE INDEX jobs_by_network ON jobs (network) WHERE network IS NOT NULL;
CREATE INDEX open_jobs ON jobs (number) WHERE open;
-- Index of parts of names.
CREATE VIRTUAL TABLE job_names USING fts5 (
    name, algorithm, content = '', contentless_delete = 1, tokenize = 'trigram case_sensitive 1'
);

CREATE TABLE requests (job INTEGER PRIMARY KEY, request TEXT NOT NULL);
CREATE TABLE states (job INTEGER PRIMARY KEY, state TEXT NOT NULL);
-- Trials of a search, in the order of their start.
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

-- Measured usage of workers, by pod and minute.
CREATE TABLE series (number INTEGER PRIMARY KEY, pod TEXT NOT NULL UNIQUE, start INTEGER NOT NULL);
CREATE TABLE minutes (
    series INTEGER NOT NULL,
    minute INTEGER NOT NULL,
    samples INTEGER NOT NULL,
    cpu REAL NOT NULL,
    memory REAL NOT NULL,
    PRIMARY KEY (series, minute)
) WITHOUT ROWID;
-- Predefined metrics of simulated and seeded jobs, by pod: the values of each series as JSON.
CREATE TABLE given_metrics (pod TEXT PRIMARY KEY, minutes TEXT NOT NULL) WITHOUT ROWID;

-- Algorithms, their publications, and experiments, in the form in which responses contain them.
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

-- Issued tokens and keys. Users are identified by name, because their indexes may
-- change at the next start.
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

-- Objects that clients of OBS have stored. A row is valid as long as the file has this size,
-- modification time (in nanoseconds) and inode.
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
-- Uploads in parts that are neither completed nor aborted.
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
