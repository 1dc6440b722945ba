WITH known(name, channel_id) AS (
  VALUES ('apple', '0'), ('google', '1'), ('facebook', '2'), ('baidu', '3')
)
SELECT auction, bidder, price, channel,
  coalesce(channel_id, regexp_extract(url, '(&|^)channel_id=([^&]*)', 2)) AS channel_id
FROM bid LEFT JOIN known ON name = lower(channel)
WHERE name IS NOT NULL OR regexp_extract(url, '(&|^)channel_id=([^&]*)', 2) <> ''
