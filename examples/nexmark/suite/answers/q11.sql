-- A bid belongs to a new visit where it is the person's first, or comes 10 seconds or more after the last.
WITH gaps AS (
  SELECT bidder, dateTime, dateTime - lag(dateTime) OVER visits < INTERVAL 10 SECONDS AS goes_on
  FROM bid
  WINDOW visits AS (PARTITION BY bidder ORDER BY dateTime)
), numbered AS (
  SELECT bidder, dateTime, count(*) FILTER (WHERE goes_on IS NOT TRUE) OVER visits AS visit
  FROM gaps
  WINDOW visits AS (PARTITION BY bidder ORDER BY dateTime)
)
SELECT bidder, count(*) AS bids, min(dateTime) AS window_start,
  max(dateTime) + INTERVAL 10 SECONDS AS window_end
FROM numbered
GROUP BY bidder, visit
HAVING max(dateTime) + INTERVAL 10 SECONDS <= (FROM closed)
