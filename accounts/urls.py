"""Pages of people and teams. allauth's pages for signing in and out are under /accounts/."""

from django.urls import path

from accounts.views import audit, groups, keys, people, teams


app_name = "accounts"

urlpatterns = [
    path("start/<str:token>/", people.start, name="start"),
    path("welcome/", people.welcome, name="welcome"),
    path("profile/", people.profile, name="profile"),
    path("profile/password/", people.password, name="password"),
    path("invitations/<str:token>/", teams.invitation, name="invitation"),
    path("team/", teams.team, name="team"),
    path("team/switch/", people.switch_team, name="switch_team"),
    path("team/rename/", teams.rename, name="rename_team"),
    path("team/members/<uuid:membership_id>/role/", teams.change_role, name="change_role"),
    path("team/members/<uuid:membership_id>/remove/", teams.remove, name="remove_member"),
    path("team/invitations/", teams.invite, name="invite"),
    path(
        "team/invitations/<uuid:invitation_id>/revoke/",
        teams.revoke_invitation,
        name="revoke_invitation",
    ),
    path("team/groups/", groups.groups, name="groups"),
    path("team/groups/<uuid:group_id>/add/", groups.add, name="add_to_group"),
    path("team/groups/<uuid:group_id>/remove/", groups.remove, name="remove_from_group"),
    path("team/groups/<uuid:group_id>/delete/", groups.delete, name="delete_group"),
    path("team/audit/", audit.trail, name="audit"),
    path("team/audit/verify/", audit.verify, name="verify_audit"),
    path("team/audit/head/", audit.head, name="audit_head"),
    path("team/audit/export/", audit.export, name="export_audit"),
    path("team/keys/", keys.keys, name="keys"),
    path("team/keys/<uuid:key_id>/limits/", keys.limits, name="key_limits"),
    path("team/keys/<uuid:key_id>/history/", keys.history, name="key_history"),
    path("team/keys/<uuid:key_id>/rotate/", keys.rotate, name="rotate_key"),
    path("team/keys/<uuid:key_id>/revoke/", keys.revoke, name="revoke_key"),
]
