-- Shared by the scripts. A namespace is five keys, which share a hash tag:
--   rows    key → "id|revision|created|updated|ends|bytes|position|group" and, on the next line, the rest as JSON
--   ends    key by the moment it ends at, for those that end
--   log     every state of every entry, oldest first: "since|id|row", and without a row once it is gone
--   places  group → the last place given in it
--   bytes   of all entries together
-- Moments are microseconds since 1970; up to the year 2255 a double holds them exactly.
local rows, ends, log, places, bytes = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]

local function moment(given)
    if given ~= '' then return given end
    local time = redis.call('TIME')
    return time[1] .. string.format('%06d', tonumber(time[2]))
end

local function header(row)
    local id, revision, created, updated, ending, size, position, group =
        string.match(row, '^([^|]*)|([^|]*)|([^|]*)|([^|]*)|([^|]*)|([^|]*)|([^|]*)|([^\n]*)\n')
    return {
        id = id, revision = tonumber(revision), created = created, ending = ending,
        size = tonumber(size), position = position, group = group,
    }
end

local function drop(key, now)
    local row = redis.call('HGET', rows, key)
    if not row then return 0 end
    local old = header(row)
    redis.call('HDEL', rows, key)
    redis.call('ZREM', ends, key)
    redis.call('DECRBY', bytes, old.size)
    redis.call('RPUSH', log, now .. '|' .. old.id .. '|')
    return 1
end

-- What is over makes room before anything else is decided.
local function expire(now)
    for _, key in ipairs(redis.call('ZRANGEBYSCORE', ends, '-inf', now)) do drop(key, now) end
end

-- A namespace where nothing stays for good goes by itself, its past some time after its last entry.
local function settle(now, keep)
    if keep == '' then return end
    local living, ending = redis.call('HLEN', rows), redis.call('ZCARD', ends)
    local last = tonumber(now)
    if ending > 0 then
        last = math.max(last, tonumber(redis.call('ZREVRANGE', ends, 0, 0, 'WITHSCORES')[2]))
    end
    for _, name in ipairs(KEYS) do
        if living > ending then
            redis.call('PERSIST', name)
        else
            redis.call('PEXPIREAT', name, string.format('%.0f', math.ceil((last + tonumber(keep)) / 1000)))
        end
    end
end
