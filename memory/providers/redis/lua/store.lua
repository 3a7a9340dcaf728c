-- Create or overwrite; room is taken or refused in the same breath.
local now, keep = moment(ARGV[1]), ARGV[2]
local key, body, size, life = ARGV[3], ARGV[4], tonumber(ARGV[5]), ARGV[6]
local most, widest, fresh, group = tonumber(ARGV[7]), tonumber(ARGV[8]), ARGV[9], ARGV[10]

expire(now)
local before = redis.call('HGET', rows, key)
local old = before and header(before)
local count = redis.call('HLEN', rows) + (old and 0 or 1)
local grows = size - (old and old.size or 0)
local total = tonumber(redis.call('GET', bytes) or '0') + grows
if (not old and most >= 0 and count > most) or (grows > 0 and widest >= 0 and total > widest) then
    settle(now, keep)
    return {'full', count, total}
end

local position = '0'
if group ~= '' then
    if old and old.group == group then
        position = old.position
    else
        position = string.format('%.0f', redis.call('HINCRBY', places, group, 1))
    end
end
local id = old and old.id or fresh
local ending = ''
if life ~= '' then ending = string.format('%.0f', tonumber(now) + tonumber(life)) end
local row = table.concat({
    id, string.format('%.0f', (old and old.revision or 0) + 1), old and old.created or now, now,
    ending, string.format('%.0f', size), position, group,
}, '|') .. '\n' .. body

redis.call('HSET', rows, key, row)
if ending == '' then redis.call('ZREM', ends, key) else redis.call('ZADD', ends, ending, key) end
redis.call('INCRBY', bytes, string.format('%.0f', grows))
redis.call('RPUSH', log, now .. '|' .. id .. '|' .. row)
settle(now, keep)
return {'stored', row}
