WITH placed AS (
  SELECT bidder, time_bucket(INTERVAL 10 SECONDS, dateTime) AS window_start
  FROM bid
)
SELECT bidder, count(*) AS bids, window_start, window_start + INTERVAL 10 SECONDS AS window_end
FROM placed
WHERE window_start + INTERVAL 10 SECONDS <= (FROM closed)
GROUP BY bidder, window_start
