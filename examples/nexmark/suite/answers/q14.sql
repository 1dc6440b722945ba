SELECT auction, bidder, 0.908::DECIMAL(3, 3) * price AS price,
  CASE
    WHEN hour(dateTime) BETWEEN 8 AND 18 THEN 'dayTime'
    WHEN hour(dateTime) IN (7, 19) THEN 'otherTime'
    ELSE 'nightTime'
  END AS bid_time_type,
  dateTime, extra, len(list_filter(string_split(extra, ''), lambda letter: letter = 'c')) AS c_counts
FROM bid
WHERE 0.908 * price > 1000000 AND 0.908 * price < 50000000
