-- One entry, or all, or the log for who asks about the past; and the moment that was.
local now, key, past = moment(ARGV[1]), ARGV[2], ARGV[3]
if past ~= '' then return {now, redis.call('LRANGE', log, 0, -1)} end
if key == '' then return {now, redis.call('HVALS', rows)} end
local row = redis.call('HGET', rows, key)
return {now, row and {row} or {}}
