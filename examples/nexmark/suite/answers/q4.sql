WITH winning AS (
  SELECT a.id, a.category, max(b.price) AS price
  FROM auction a JOIN bid b ON b.auction = a.id
  WHERE b.dateTime >= a.dateTime AND b.dateTime <= a.expires
  GROUP BY ALL
)
SELECT category, avg(price) AS price
FROM winning
GROUP BY category
