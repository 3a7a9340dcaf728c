-- Every row the living entry ever was, oldest first.
local now, key = moment(ARGV[1]), ARGV[2]
local row = redis.call('HGET', rows, key)
if not row then return {} end
local living = header(row)
if living.ending ~= '' and tonumber(living.ending) <= tonumber(now) then return {} end
local found = {}
for _, state in ipairs(redis.call('LRANGE', log, 0, -1)) do
    local id, written = string.match(state, '^[^|]*|([^|]*)|(.*)$')
    if id == living.id and written ~= '' then found[#found + 1] = written end
end
return found
