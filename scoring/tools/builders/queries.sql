-- What the builders ask of their store, by the module that asks.

-- name: classes: table
CREATE TABLE features (
    number INTEGER PRIMARY KEY, draw INTEGER, paper_id TEXT, target TEXT, field TEXT, low_resource TEXT,
    cited_year INTEGER, year_group TEXT, citations INTEGER, citation_group TEXT, n_tokens INTEGER,
    length_class TEXT, position REAL, location_class TEXT, context_type TEXT, h_index INTEGER,
    h_index_group TEXT
);
CREATE TABLE tags (
    number INTEGER PRIMARY KEY, word_before TEXT, pos_before TEXT, word_after TEXT, pos_after TEXT
);
CREATE VIEW classified AS SELECT f.*, word_before, pos_before, word_after, pos_after
    FROM features f LEFT JOIN tags t ON t.number = f.number;

-- name: classes: insert
INSERT INTO features (number, draw, paper_id, target, field, low_resource, cited_year, year_group, citations,
    n_tokens, length_class, position, location_class, context_type, h_index)
VALUES (:number, :draw, :paper_id, :target, :field, :low_resource, :cited_year, :year_group, :citations,
    :n_tokens, :length_class, :position, :location_class, :context_type, :h_index)

-- name: classes: contexts
SELECT c.*, p.field AS citing, t.field AS cited, p.year AS citing_year,
    r.target, r.raw, coalesce(r.year, t.year) AS year, coalesce(r.citations, t.citations) AS citations,
    (SELECT max(h_index) FROM json_each(t.author_ids) JOIN authors ON author_id = value) AS h_index
FROM contexts c LEFT JOIN papers p ON p.paper_id = c.paper_id
LEFT JOIN refs r ON r.paper_id = c.paper_id AND r.ref_id = json_extract(c.gold, '$[0]')
LEFT JOIN papers t ON t.paper_id = r.target ORDER BY c.number

-- name: classes: known fields
-- The share of contexts whose cited paper has a field.
SELECT avg(t.field IS NOT NULL) FROM contexts c
JOIN refs r ON r.paper_id = c.paper_id AND r.ref_id = json_extract(c.gold, '$[0]')
LEFT JOIN papers t ON t.paper_id = r.target

-- name: classes: citation groups
-- Equal groups of cited papers within field and years; papers with equally many citations share a group.
WITH cited AS (
    SELECT DISTINCT field, year_group, target, citations FROM features
    WHERE citations >= :fewest AND year_group IS NOT NULL
), ranked AS (
    SELECT field, year_group, target, :groups * (rank() OVER w - 1) / count(*) OVER s AS grouped
    FROM cited WINDOW s AS (PARTITION BY field, year_group), w AS (s ORDER BY citations)
)
UPDATE features SET citation_group = CAST(ranked.grouped AS TEXT) FROM ranked
WHERE features.target = ranked.target AND features.year_group = ranked.year_group
    AND features.field IS ranked.field

-- name: classes: h index groups
-- Equal groups of cited papers within their field, by the highest h-index of an author.
WITH cited AS (SELECT DISTINCT field, target, h_index FROM features WHERE h_index IS NOT NULL), ranked AS (
    SELECT field, target, :groups * (rank() OVER w - 1) / count(*) OVER s AS grouped
    FROM cited WINDOW s AS (PARTITION BY field), w AS (s ORDER BY h_index)
)
UPDATE features SET h_index_group = CAST(ranked.grouped AS TEXT) FROM ranked
WHERE features.target = ranked.target AND features.field IS ranked.field

-- name: classes: pairs
SELECT c.number, c.sentence, i.context, i.context_type
FROM contexts c JOIN refs r ON r.paper_id = c.paper_id AND r.ref_id = json_extract(c.gold, '$[0]')
JOIN intents i ON i.citing = c.paper_id AND i.cited = r.target
WHERE c.context_type IS NULL ORDER BY c.number, i.rowid

-- name: datasheet: rows
SELECT f.*, (SELECT group_concat(dimension) FROM sampled s WHERE s.number = f.number) AS sampled
FROM classified f

-- name: datasheet: papers
-- Each paper whose field counts once, with its year: how many there are, and how many are selected.
SELECT field, year, count(*) AS before, sum(chosen) AS after FROM (
    SELECT f.field, min(CASE WHEN :cited THEN f.cited_year ELSE p.year END) AS year,
        max(:every OR EXISTS (SELECT 1 FROM sampled s WHERE s.number = f.number)) AS chosen
    FROM features f LEFT JOIN papers p ON p.paper_id = f.paper_id WHERE f.field IS NOT NULL
    GROUP BY f.field, CASE WHEN :cited THEN f.target ELSE f.paper_id END
) WHERE year IS NOT NULL GROUP BY field, year ORDER BY field, year

-- name: diagnostic: sampled
CREATE TABLE sampled (number INTEGER, dimension TEXT, PRIMARY KEY (number, dimension)) WITHOUT ROWID

-- name: diagnostic: selected
SELECT f.*, c.context_id, c.section, c.before, c.sentence, c.after, c.marker, c.style,
    (SELECT group_concat(dimension) FROM sampled s WHERE s.number = f.number) AS sampled
FROM classified f JOIN contexts c ON c.number = f.number
WHERE :every OR f.number IN (SELECT number FROM sampled) ORDER BY f.draw

-- name: diagnostic: candidates
SELECT t.target, r.raw, coalesce(nullif(p.title, ''), r.title) AS title, p.abstract, p.authors,
    coalesce(r.year, p.year) AS year,
    (SELECT json_group_array(json_object('name', name, 'h_index', h_index, 'paper_count', papers,
        'citation_count', citations)) FROM (SELECT a.* FROM json_each(p.author_ids) own
        JOIN authors a ON a.author_id = own.value ORDER BY own.key)) AS author_metadata
FROM (SELECT target, min(place) AS place FROM refs GROUP BY target UNION ALL SELECT paper_id, NULL FROM papers
    WHERE :all AND title > '' AND paper_id NOT IN (SELECT target FROM refs)) t
LEFT JOIN refs r ON r.place = t.place LEFT JOIN papers p ON p.paper_id = t.target ORDER BY t.target

-- name: diagnostic: licences
SELECT nullif(licence, ''), count(*) FROM papers GROUP BY 1 ORDER BY 2 DESC

-- name: resolution: internal
CREATE TABLE internal AS
SELECT r.paper_id, r.target, min(r.place) AS place FROM refs r
WHERE (:references OR r.target IN (SELECT paper_id FROM papers)) AND r.target <> r.paper_id
GROUP BY r.paper_id, r.target

-- name: resolution: tested
CREATE TABLE tested AS SELECT paper_id, count(*) AS candidates FROM internal
GROUP BY paper_id HAVING count(*) >= :fewest

-- name: resolution: references
SELECT i.paper_id, i.target AS ref_id, r.raw, coalesce(nullif(p.title, ''), r.title) AS title,
    nullif(p.abstract, '') AS abstract, nullif(p.text, '') AS text, coalesce(r.year, p.year) AS year
FROM internal i JOIN tested USING (paper_id) JOIN refs r ON r.place = i.place
LEFT JOIN papers p ON p.paper_id = i.target ORDER BY i.place

-- name: resolution: papers
SELECT p.paper_id, p.title, p.authors, p.field AS discipline, p.year, p.licence FROM papers p
JOIN tested USING (paper_id) ORDER BY paper_id

-- name: resolution: contexts
SELECT c.* FROM contexts c JOIN tested USING (paper_id) ORDER BY c.paper_id, c.number

-- name: resolution: targets
SELECT r.ref_id, r.target FROM refs r JOIN internal i ON i.paper_id = r.paper_id AND i.target = r.target
WHERE r.paper_id = ?

-- name: resolution: citations
SELECT paper_id AS citing, target AS cited FROM internal ORDER BY cited, citing

-- name: resolution: inlinks
SELECT r.target AS ref_id, c.paper_id AS citing, c.before, c.sentence, c.after
FROM contexts c, json_each(c.gold) g JOIN refs r ON r.paper_id = c.paper_id AND r.ref_id = g.value
WHERE r.target IN (SELECT target FROM internal JOIN tested USING (paper_id))
    AND NOT (:without_tested AND c.paper_id IN (SELECT paper_id FROM tested)) ORDER BY r.target, c.number

-- name: diagnostic: insert
INSERT INTO sampled VALUES (?, ?)

-- name: diagnostic: combined
SELECT * FROM classified WHERE number IN (SELECT number FROM sampled) ORDER BY draw

-- name: store: tables
CREATE TABLE papers (
    paper_id TEXT PRIMARY KEY, title TEXT, authors TEXT, abstract TEXT, text TEXT, field TEXT, year INTEGER,
    citations INTEGER, licence TEXT, author_ids TEXT
) WITHOUT ROWID;
CREATE TABLE authors (
    author_id TEXT PRIMARY KEY, name TEXT, h_index INTEGER, papers INTEGER, citations INTEGER
) WITHOUT ROWID;
CREATE TABLE refs (
    place INTEGER PRIMARY KEY, paper_id TEXT, ref_id TEXT, target TEXT, raw TEXT, title TEXT, year INTEGER,
    citations INTEGER, UNIQUE (paper_id, ref_id)
);
CREATE TABLE contexts (
    number INTEGER PRIMARY KEY, context_id TEXT UNIQUE, paper_id TEXT, section TEXT, before TEXT,
    sentence TEXT, after TEXT, gold TEXT, markers INTEGER, marker TEXT, style TEXT, context_type TEXT,
    zone TEXT
);
CREATE TABLE intents (citing TEXT, cited TEXT, context TEXT, context_type TEXT);
CREATE TABLE lengths (tokens INTEGER PRIMARY KEY, sentences INTEGER);

-- name: store: upsert
-- Of a paper in several lines, what the last one says.
ON CONFLICT (paper_id) DO UPDATE SET
    title = coalesce(nullif(excluded.title, ''), title),
    authors = coalesce(nullif(excluded.authors, ''), authors),
    abstract = coalesce(nullif(excluded.abstract, ''), abstract),
    text = coalesce(nullif(excluded.text, ''), text),
    field = coalesce(excluded.field, field), year = coalesce(excluded.year, year),
    citations = coalesce(excluded.citations, citations),
    licence = coalesce(nullif(excluded.licence, ''), licence),
    author_ids = coalesce(nullif(excluded.author_ids, '[]'), author_ids)

-- name: store: upsert author
ON CONFLICT (author_id) DO UPDATE SET
    name = coalesce(nullif(excluded.name, ''), name), h_index = coalesce(excluded.h_index, h_index),
    papers = coalesce(excluded.papers, papers), citations = coalesce(excluded.citations, citations)

-- name: store: paper
INSERT INTO papers VALUES (:paper_id, :title, :authors, :abstract, :text, :field, :year, :citations, :licence,
    :author_ids)

-- name: store: author
INSERT INTO authors VALUES (:author_id, :name, :h_index, :papers, :citations)

-- name: store: papers of part
INSERT INTO papers SELECT * FROM part.papers WHERE true

-- name: store: authors of part
INSERT INTO authors SELECT * FROM part.authors WHERE true

-- name: store: rest of part
INSERT OR IGNORE INTO refs SELECT NULL, paper_id, ref_id, target, raw, title, year, citations
    FROM part.refs ORDER BY place;
INSERT OR IGNORE INTO contexts SELECT NULL, context_id, paper_id, section, before, sentence, after, gold,
    markers, marker, style, context_type, zone FROM part.contexts ORDER BY number;
INSERT INTO intents SELECT * FROM part.intents ORDER BY rowid;
INSERT INTO lengths SELECT * FROM part.lengths WHERE true
    ON CONFLICT (tokens) DO UPDATE SET sentences = sentences + excluded.sentences;

-- name: store: twice
SELECT p.context_id FROM part.contexts p JOIN main.contexts c USING (context_id) WHERE c.number <= ?
ORDER BY p.number LIMIT 1

-- name: store: last
SELECT coalesce(max(number), 0) FROM {}.contexts

-- name: tagging: to tag
SELECT f.number, c.sentence FROM features f JOIN contexts c ON c.number = f.number
WHERE f.number > :after AND f.number <= :last
    AND (:every OR (f.length_class = 'medium' AND f.location_class = 'middle')) ORDER BY f.number

-- name: tagging: tagged
INSERT INTO tags VALUES (:number, :word_before, :pos_before, :word_after, :pos_after)

-- name: topics: texts
CREATE TABLE texts (place INTEGER PRIMARY KEY, paper_id TEXT, section TEXT, printed TEXT, unmarked TEXT);
CREATE INDEX texts_by_paper ON texts (paper_id);

-- name: topics: citing
SELECT r.target AS cited, c.paper_id AS citing, p.year, min(c.markers) = 1 AS is_single
FROM contexts c, json_each(c.gold) g JOIN refs r ON r.paper_id = c.paper_id AND r.ref_id = g.value
JOIN papers p ON p.paper_id = c.paper_id
WHERE r.target <> c.paper_id AND r.target IN (SELECT paper_id FROM papers)
GROUP BY cited, citing ORDER BY cited, citing

-- name: topics: paper
SELECT paper_id, title, year, citations,
    text <> '' OR EXISTS (SELECT 1 FROM texts t WHERE t.paper_id = p.paper_id) AS has_text
FROM papers p WHERE paper_id = ?

-- name: topics: contexts
SELECT DISTINCT c.number, c.before, c.sentence, c.after, c.marker, c.section
FROM contexts c, json_each(c.gold) g JOIN refs r ON r.paper_id = c.paper_id AND r.ref_id = g.value
WHERE c.paper_id = ? AND r.target = ? ORDER BY c.number

-- name: resolution_sweep: documents
SELECT i.target, max(r.raw) AS raw, coalesce(nullif(p.title, ''), max(r.title)) AS title, p.abstract, p.text
FROM internal i JOIN refs r ON r.place = i.place LEFT JOIN papers p ON p.paper_id = i.target GROUP BY i.target

-- name: resolution_sweep: candidates
SELECT paper_id, target FROM internal JOIN tested USING (paper_id) ORDER BY paper_id, place
