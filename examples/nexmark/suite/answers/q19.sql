SELECT auction, list(
  {'price': price, 'bidder': bidder, 'channel': channel, 'dateTime': dateTime}
  ORDER BY price DESC, dateTime DESC, bidder DESC
)[1:10] AS top
FROM bid
GROUP BY auction
