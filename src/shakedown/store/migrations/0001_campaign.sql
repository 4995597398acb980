-- What happened in one campaign. Values are JSON of the types in shakedown.domain; times are Unix seconds.

CREATE TABLE campaign (
    one        INTEGER PRIMARY KEY CHECK (one = 1),
    name       TEXT NOT NULL,
    text       TEXT NOT NULL,  -- the campaign file as it was given
    spec       TEXT NOT NULL,  -- the same, parsed: what a resumed campaign is compared by
    created_at REAL NOT NULL
) STRICT;

CREATE TABLE session (
    number    INTEGER PRIMARY KEY,
    opened_at REAL NOT NULL,
    elapsed_s REAL NOT NULL DEFAULT 0  -- by the monotonic clock, as of the last thing written
) STRICT;

CREATE TABLE fact (
    key         TEXT PRIMARY KEY,
    value       TEXT NOT NULL CHECK (json_valid(value)),
    recorded_at REAL NOT NULL
) STRICT;

CREATE TABLE candidate (
    number INTEGER PRIMARY KEY,
    id     TEXT NOT NULL UNIQUE,
    record TEXT NOT NULL CHECK (json_valid(record))
) STRICT;

CREATE TABLE trial (
    number       INTEGER PRIMARY KEY,
    id           TEXT NOT NULL UNIQUE,
    candidate_id TEXT NOT NULL REFERENCES candidate (id),
    state        TEXT NOT NULL DEFAULT 'running' CHECK (state IN ('running', 'finished', 'broken')),
    begun_at     REAL NOT NULL,
    ended_at     REAL,
    CHECK ((state = 'running') = (ended_at IS NULL))
) STRICT;

CREATE TABLE event (
    trial_id TEXT NOT NULL REFERENCES trial (id),
    number   INTEGER NOT NULL,
    type     TEXT NOT NULL,
    at       REAL NOT NULL,
    payload  TEXT NOT NULL CHECK (json_valid(payload)),
    PRIMARY KEY (trial_id, number)
) STRICT, WITHOUT ROWID;

-- For people with a SQLite shell.
CREATE VIEW point AS
SELECT
    trial.candidate_id,
    event.trial_id,
    json_extract(payload, '$.point.workload') AS workload,
    json_extract(payload, '$.point.concurrency') AS concurrency,
    json_extract(payload, '$.point.request_rate') AS request_rate,
    json_extract(payload, '$.point.repeat') AS repeat,
    json_extract(payload, '$.point.output_tokens_per_s') AS output_tokens_per_s,
    json_extract(payload, '$.point') AS summary
FROM event JOIN trial ON trial.id = event.trial_id
WHERE event.type = 'point_finished';

CREATE TRIGGER candidate_content_is_immutable BEFORE UPDATE ON candidate
WHEN NEW.id <> OLD.id OR json_extract(NEW.record, '$.candidate') <> json_extract(OLD.record, '$.candidate')
BEGIN
    SELECT RAISE(ABORT, 'what makes a candidate is immutable; a changed one is another candidate');
END;

CREATE TRIGGER ended_trial_is_immutable BEFORE UPDATE ON trial WHEN OLD.state <> 'running'
BEGIN
    SELECT RAISE(ABORT, 'an ended trial is immutable');
END;

CREATE TRIGGER trial_identity_is_immutable BEFORE UPDATE ON trial
WHEN NEW.id <> OLD.id OR NEW.candidate_id <> OLD.candidate_id OR NEW.begun_at <> OLD.begun_at
BEGIN
    SELECT RAISE(ABORT, 'the identity of a trial is immutable');
END;

CREATE TRIGGER finished_needs_its_last_event BEFORE UPDATE ON trial
WHEN NEW.state = 'finished'
    AND NOT EXISTS (SELECT 1 FROM event WHERE trial_id = OLD.id AND type = 'trial_finished')
BEGIN
    SELECT RAISE(ABORT, 'a trial is finished by its last event only');
END;

CREATE TRIGGER trial_begins_running BEFORE INSERT ON trial WHEN NEW.state <> 'running'
BEGIN
    SELECT RAISE(ABORT, 'a trial begins running');
END;

CREATE TRIGGER trial_is_never_deleted BEFORE DELETE ON trial
BEGIN
    SELECT RAISE(ABORT, 'a trial is never deleted');
END;

CREATE TRIGGER event_of_running_trial_only BEFORE INSERT ON event
WHEN (SELECT state FROM trial WHERE id = NEW.trial_id) <> 'running'
BEGIN
    SELECT RAISE(ABORT, 'an ended trial takes no more events');
END;

CREATE TRIGGER event_is_never_changed BEFORE UPDATE ON event
BEGIN
    SELECT RAISE(ABORT, 'an event is never changed');
END;

CREATE TRIGGER event_is_never_deleted BEFORE DELETE ON event
BEGIN
    SELECT RAISE(ABORT, 'an event is never deleted');
END;
