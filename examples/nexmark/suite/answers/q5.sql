WITH ends AS (
  SELECT auction, time_bucket(INTERVAL 2 SECONDS, dateTime) + INTERVAL 2 SECONDS * step AS window_end
  FROM bid, range(1, 6) AS steps(step)
), counted AS (
  SELECT auction, window_end, count(*) AS bids
  FROM ends
  WHERE window_end <= (FROM closed)
  GROUP BY ALL
)
SELECT auction, bids, window_end - INTERVAL 10 SECONDS AS window_start, window_end
FROM counted
QUALIFY rank() OVER (PARTITION BY window_end ORDER BY bids DESC) = 1
