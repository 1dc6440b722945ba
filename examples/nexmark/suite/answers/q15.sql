WITH ranked AS (
  SELECT date_trunc('day', dateTime) AS day, bidder, auction,
    CASE WHEN price < 10000 THEN 1 WHEN price < 1000000 THEN 2 ELSE 3 END AS rank
  FROM bid
)
SELECT strftime(day, '%Y-%m-%d') AS day,
  count(*), count(*) FILTER (rank = 1), count(*) FILTER (rank = 2), count(*) FILTER (rank = 3),
  count(DISTINCT bidder), count(DISTINCT bidder) FILTER (rank = 1),
  count(DISTINCT bidder) FILTER (rank = 2), count(DISTINCT bidder) FILTER (rank = 3),
  count(DISTINCT auction), count(DISTINCT auction) FILTER (rank = 1),
  count(DISTINCT auction) FILTER (rank = 2), count(DISTINCT auction) FILTER (rank = 3)
FROM ranked
WHERE day + INTERVAL 1 DAY <= (FROM closed)
GROUP BY ranked.day
