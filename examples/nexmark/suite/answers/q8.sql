WITH registered AS (
  SELECT DISTINCT id, name, time_bucket(INTERVAL 10 SECONDS, dateTime) AS window_start
  FROM person
), sellers AS (
  SELECT DISTINCT seller, time_bucket(INTERVAL 10 SECONDS, dateTime) AS window_start
  FROM auction
)
SELECT id, name, r.window_start
FROM registered r JOIN sellers s ON id = seller AND r.window_start = s.window_start
WHERE r.window_start + INTERVAL 10 SECONDS <= (FROM closed)
