SELECT auction, bidder, 0.908::DECIMAL(3, 3) * price AS price, dateTime, extra
FROM bid
