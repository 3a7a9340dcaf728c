-- One key, or (of none) every key; how many there were.
local now, keep, key = moment(ARGV[1]), ARGV[2], ARGV[3]
expire(now)
local gone = 0
if key ~= '' then
    gone = drop(key, now)
else
    for _, one in ipairs(redis.call('HKEYS', rows)) do gone = gone + drop(one, now) end
end
settle(now, keep)
return gone
