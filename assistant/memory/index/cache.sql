-- Vectors by text and model; they outlive the index, which recognises them by the token.
CREATE TABLE vectors (id INTEGER PRIMARY KEY, key BLOB UNIQUE NOT NULL, value BLOB NOT NULL);
CREATE TABLE token (value TEXT NOT NULL);
