WITH placed AS (
  SELECT *, time_bucket(INTERVAL 10 SECONDS, dateTime) AS window_start
  FROM bid
)
SELECT auction, price, bidder, dateTime, extra
FROM placed
WHERE window_start + INTERVAL 10 SECONDS <= (FROM closed)
QUALIFY rank() OVER (PARTITION BY window_start ORDER BY price DESC) = 1
