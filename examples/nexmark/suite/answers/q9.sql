SELECT a.id, itemName, category, seller, a.dateTime, expires, bidder, price, b.dateTime
FROM auction a JOIN bid b ON b.auction = a.id
WHERE b.dateTime >= a.dateTime AND b.dateTime <= a.expires
QUALIFY row_number() OVER (PARTITION BY a.id ORDER BY price DESC, b.dateTime) = 1
