-- The index of a corpus. It is derived from the files: increment SCHEMA_VERSION in database.py with
-- each change here or of Chroma's settings; an index of another version is rebuilt.

-- A file as it was last read; `layout` contains the columns of its chunks, see layout.py, `checksum`
-- is theirs; `warning` is the fault of a file that is readable nevertheless.
CREATE TABLE sources (
  id INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL, inode INTEGER, size INTEGER,
  mtime_ns INTEGER, ctime_ns INTEGER, sha256 TEXT, read_ns INTEGER, chunks INTEGER,
  layout BLOB NOT NULL DEFAULT x'', checksum INTEGER NOT NULL DEFAULT 0,
  warning TEXT NOT NULL DEFAULT '');

-- A heading path of a file, as JSON; `vector` is that of its headings' text.
CREATE TABLE sections (
  id INTEGER PRIMARY KEY, source INTEGER NOT NULL, heading TEXT NOT NULL, vector INTEGER,
  UNIQUE (source, heading));

-- A chunk: its text to search, and the rest of it as JSON, with a position that is no longer true
-- once the file has changed above it. `marked` is the vector of the phrases in its `for:` comment,
-- `days` are the occasions that it mentions, from the first to the last day, as ordinals.
CREATE TABLE chunks (
  rowid INTEGER PRIMARY KEY, id TEXT UNIQUE NOT NULL, vector INTEGER NOT NULL,
  plain TEXT NOT NULL, data BLOB NOT NULL, checksum INTEGER NOT NULL,
  marked INTEGER, first INTEGER, last INTEGER, days BLOB);
CREATE INDEX chunks_marked ON chunks (marked) WHERE marked IS NOT NULL;
CREATE INDEX chunks_days ON chunks (first, last) WHERE first IS NOT NULL;

-- The ids of chunks whose changes Chroma still lacks.
CREATE TABLE outbox (seq INTEGER PRIMARY KEY AUTOINCREMENT, chunk TEXT UNIQUE NOT NULL);

CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

-- Words as they are spelt, with the number of texts with each; the postings of terms; see words.py.
CREATE TABLE vocabulary (word TEXT PRIMARY KEY, texts INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE postings (
  block INTEGER NOT NULL, term TEXT NOT NULL, found BLOB NOT NULL,
  PRIMARY KEY (term, block)) WITHOUT ROWID;
CREATE TABLE heading_postings (
  block INTEGER NOT NULL, term TEXT NOT NULL, found BLOB NOT NULL,
  PRIMARY KEY (term, block)) WITHOUT ROWID;
