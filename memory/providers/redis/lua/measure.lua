-- How many entries there are and how many bytes they have, without those that are over.
local now = moment(ARGV[1])
local count, size = redis.call('HLEN', rows), tonumber(redis.call('GET', bytes) or '0')
for _, key in ipairs(redis.call('ZRANGEBYSCORE', ends, '-inf', now)) do
    local row = redis.call('HGET', rows, key)
    if row then
        count = count - 1
        size = size - header(row).size
    end
end
return {count, size}
