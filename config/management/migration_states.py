"""The models as migrations see them, with classes built only as far as an operation asks for them.

Django builds the classes of nearly all models again for each of the hundreds of operations, which took four fifths of the
time of a first start. Here an operation that changes a table builds the class of its model and of those it refers to. What
may concern other tables too, such as a change of a key, and Python code get all models, as from Django itself.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.state import ModelState, ProjectState, StateApps
from django.db.migrations.utils import field_is_referenced, resolve_relation
from django.db.models import Field


Key = tuple[str, str]  # the label of an app, and the name of a model in small letters


class PartialApps(StateApps):
    """A registry that builds the class of a model when it is asked for, with those that the model refers to."""

    def __init__(self, real_apps: Any, states: dict[Key, ModelState]) -> None:
        super().__init__(real_apps, {})
        self._states = states

    def get_model(
        self, app_label: str, model_name: str | None = None, require_ready: bool = True
    ) -> Any:
        if model_name is None:
            app_label, model_name = app_label.split(".")
        needed = self._collect_references((app_label, model_name.lower()))
        self.render_multiple(
            [self._states[key] for key in needed if key[1] not in self.all_models[key[0]]]
        )
        return super().get_model(app_label, model_name, require_ready)

    def _collect_references(self, key: Key) -> Iterable[Key]:
        related: dict[Key, None] = {}
        waiting = [key]
        while waiting:
            key = waiting.pop()
            if key in self._states and key not in related:
                related[key] = None
                waiting += list_references(self._states[key])
        return related


def list_references(state: ModelState) -> Iterator[Key]:
    """Yield the models that this one is derived from, and those that its fields refer to."""
    own = (state.app_label, state.name_lower)
    related: list[Any] = [base for base in state.bases if isinstance(base, str)]
    for field in state.fields.values():
        if relation := field.remote_field:
            related += [relation.model, getattr(relation, "through", None)]
    yield from (resolve_relation(model, *own) for model in related if model)


@dataclass
class Scope:
    """How far an operation reaches, known to the states before and after it."""

    has_all_models: bool = False


class PartialState(ProjectState):
    """A state of the project that builds classes when they are asked for, and drops them when it changes."""

    def __init__(self, models: Any = None, real_apps: Any = None) -> None:
        super().__init__(models, real_apps)
        self._apps: StateApps | None = None
        self._scope = Scope()

    def clone(self) -> "PartialState":
        """Return a copy. Each operation begins with that of the state before it."""
        copy = PartialState(
            {key: state.clone() for key, state in self.models.items()}, self.real_apps
        )
        copy._apps, copy._scope = self._apps, self._scope
        self._scope.has_all_models = False
        return copy

    def _provide_apps(self) -> StateApps:
        has_all_models = self._scope.has_all_models
        if self._apps is None or (has_all_models and type(self._apps) is PartialApps):
            self._apps = self._build_apps(StateApps if has_all_models else PartialApps)
        return self._apps

    def _drop_apps(self) -> None:
        self._apps = None

    # Django's is an attribute that is computed once. It is deleted when migrations are taken back.
    apps: Any = property(_provide_apps, fdel=_drop_apps)

    def _build_apps(self, kind: type[StateApps]) -> StateApps:
        # Of a copy, which stays as it is when the state changes.
        states = {key: state.clone() for key, state in self.models.items()}
        real_apps: Any = self.real_apps
        return kind(real_apps, states)

    def clear_delayed_apps_cache(self) -> None:
        """Provide all models. Django calls this before Python code gets them."""
        self._apps = self._build_apps(StateApps)

    def reload_model(self, app_label: str, model_name: str, delay: bool = False) -> None:
        self._apps = None

    def reload_models(self, models: Any, delay: bool = True) -> None:
        self._apps = None

    def add_model(self, model_state: ModelState) -> None:
        super().add_model(model_state)
        self._apps = None

    def remove_model(self, app_label: str, model_name: str) -> None:
        self._scope.has_all_models = True
        super().remove_model(app_label, model_name)
        self._apps = None

    def alter_field(
        self,
        app_label: str,
        model_name: str,
        name: str,
        field: Field[Any, Any],
        preserve_default: bool,
    ) -> None:
        key = (app_label, model_name)
        before = self.models[key].fields[name]
        if before.is_relation or field.is_relation or field_is_referenced(self, key, (name, field)):
            self._scope.has_all_models = True
        super().alter_field(app_label, model_name, name, field, preserve_default)

    def rename_field(self, app_label: str, model_name: str, old_name: str, new_name: str) -> None:
        self._scope.has_all_models = True
        super().rename_field(app_label, model_name, old_name, new_name)


class Executor(MigrationExecutor):
    """Migrates with partial states, which make a first start and an update take half the time."""

    def _create_project_state(self, with_applied_migrations: bool = False) -> ProjectState:
        parent: Any = super()
        state: ProjectState = parent._create_project_state(with_applied_migrations)
        return PartialState(state.models, state.real_apps)
