-- A seller's average is told once for each instant at which auctions close, and where it is another one.
WITH closings AS (
  SELECT a.id, a.seller, a.expires, max(b.price) AS price
  FROM auction a JOIN bid b ON b.auction = a.id
  WHERE b.dateTime >= a.dateTime AND b.dateTime <= a.expires
  GROUP BY ALL
), averages AS (
  SELECT seller, expires, avg(price) OVER last_ten AS price
  FROM closings
  WINDOW last_ten AS (PARTITION BY seller ORDER BY expires, price ROWS 9 PRECEDING)
  QUALIFY row_number() OVER (PARTITION BY seller, expires ORDER BY closings.price DESC) = 1
)
SELECT seller, price
FROM averages
QUALIFY price IS DISTINCT FROM lag(price) OVER (PARTITION BY seller ORDER BY expires)
