-- The ids of objects that are shared with a person for one verb, of one type (accounts/access.py).

-- name: in_person
SELECT granted.object_pk::uuid FROM guardian_userobjectpermission granted
JOIN auth_permission verb ON verb.id = granted.permission_id
WHERE granted.user_id = %s AND verb.codename = %s AND granted.content_type_id = %s

-- name: by_group
SELECT granted.object_pk::uuid FROM accounts_user_groups member
JOIN guardian_groupobjectpermission granted ON granted.group_id = member.group_id
JOIN auth_permission verb ON verb.id = granted.permission_id
WHERE member.user_id = %s AND verb.codename = %s AND granted.content_type_id = %s
