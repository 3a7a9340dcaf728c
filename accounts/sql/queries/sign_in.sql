-- Counts of failed sign-ins (accounts/services/sign_in.py). An attempt is counted before the password is checked, so
-- that many attempts at the same time can't all pass; a right password takes its count back.

-- name: reserve
INSERT INTO accounts_signinfailures AS known (key, count, last_at)
VALUES (%(key)s, 1, clock_timestamp())
ON CONFLICT (key) DO UPDATE SET
    count = CASE WHEN known.last_at < clock_timestamp() - %(forget)s THEN 1 ELSE known.count + 1 END,
    last_at = clock_timestamp()
WHERE known.count < %(free)s
    OR known.last_at + least(%(longest)s, interval '1 second' * 2 ^ least(known.count - %(free)s + 1, 30)) <= clock_timestamp()
RETURNING count

-- name: wait
SELECT extract(epoch FROM last_at - clock_timestamp()
    + least(%(longest)s, interval '1 second' * 2 ^ least(count - %(free)s + 1, 30)))
FROM accounts_signinfailures WHERE key = %(key)s

-- name: take_back
UPDATE accounts_signinfailures SET count = count - 1 WHERE key = ANY(%(keys)s) AND count > 0
