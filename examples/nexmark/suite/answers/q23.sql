SELECT b.auction, b.price, b.channel, b.dateTime, p.id, p.name, p.city, p.state, a.id, a.itemName,
  a.initialBid, a.reserve, a.category
FROM bid b, person p, auction a
WHERE b.bidder = p.id AND a.seller = p.id
