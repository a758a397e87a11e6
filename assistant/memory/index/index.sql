-- The index of a corpus. It is derived from the files: SCHEMA_VERSION in database.py grows with each
-- change here or of Chroma's settings, and an index of another version is made again.

-- A file as it was last read; `layout` holds the columns of its chunks, see layout.py, `checksum`
-- is theirs; `warning` is a fault of the file, although it can be read.
CREATE TABLE sources (
  id INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL, inode INTEGER, size INTEGER,
  mtime_ns INTEGER, ctime_ns INTEGER, sha256 TEXT, read_ns INTEGER, chunks INTEGER,
  layout BLOB NOT NULL DEFAULT x'', checksum INTEGER NOT NULL DEFAULT 0,
  warning TEXT NOT NULL DEFAULT '');

-- A heading path of a file, as JSON; `vector` is that of what its headings say.
CREATE TABLE sections (
  id INTEGER PRIMARY KEY, source INTEGER NOT NULL, heading TEXT NOT NULL, vector INTEGER,
  UNIQUE (source, heading));

-- A chunk, without where it stands. `checksum` is that of what is read of it for an answer.
CREATE TABLE chunks (
  rowid INTEGER PRIMARY KEY, id TEXT UNIQUE NOT NULL, source INTEGER NOT NULL,
  section INTEGER NOT NULL, vector INTEGER NOT NULL,
  date TEXT, status TEXT NOT NULL, until TEXT, mentions TEXT NOT NULL,
  plain TEXT NOT NULL, text TEXT NOT NULL, checksum INTEGER NOT NULL);

-- The chunks that say what they matter for; `vector` is that of these words.
CREATE TABLE marks (chunk INTEGER PRIMARY KEY, vector INTEGER NOT NULL);

-- The days that a chunk speaks of, from the first to the last, as ordinals.
CREATE TABLE occasions (
  chunk INTEGER PRIMARY KEY, first INTEGER NOT NULL, last INTEGER NOT NULL, value BLOB NOT NULL);

-- The ids of chunks that Chroma must still be told of.
CREATE TABLE outbox (seq INTEGER PRIMARY KEY AUTOINCREMENT, chunk TEXT UNIQUE NOT NULL);

CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

-- Words as they are spelt and the number of texts with each; where each term stands; see words.py.
CREATE TABLE vocabulary (word TEXT PRIMARY KEY, texts INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE postings (
  block INTEGER NOT NULL, term TEXT NOT NULL, found BLOB NOT NULL,
  PRIMARY KEY (term, block)) WITHOUT ROWID;
CREATE TABLE heading_postings (
  block INTEGER NOT NULL, term TEXT NOT NULL, found BLOB NOT NULL,
  PRIMARY KEY (term, block)) WITHOUT ROWID;
