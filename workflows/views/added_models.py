"""The embedding and reranking models of a team's providers, and the defaults among them, on the page Models."""

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST

from accounts.errors import NotFound
from accounts.principals import Principal, get_current_team_id, get_principal
from workflows import memory_app, permissions
from workflows.errors import InvalidValue, NameTaken
from workflows.forms import SENT_TEXTS, PageForm
from workflows.llm.presets import list_embedding_models, list_rerank_models
from workflows.models import ModelProvider, ProviderModel
from workflows.models.provider import ModelType
from workflows.services.models import added_models
from workflows.services.models.model_trials import TRIAL_DOCUMENTS, TRIAL_QUERY, ModelTrial
from workflows.templatetags.provider_logos import get_logo
from workflows.views.model_choices import ModelOption
from workflows.views.request_context import find_provider, is_htmx, parse_id, read_text


MAX_SUGGESTIONS = 50


class AddedModelForm(PageForm):
    """An embedding or reranking model of a connected provider."""

    type = forms.ChoiceField(label=gettext_lazy("Type of model"), choices=ModelType.choices)
    name = forms.CharField(label=gettext_lazy("Model"), max_length=255)
    dimensions = forms.IntegerField(
        label=gettext_lazy("Dimensions"),
        required=False,
        min_value=1,
        max_value=3900,
        help_text=gettext_lazy(
            "Of an embedding model. Empty: its own number; at most 3900 can be stored."
        ),
    )
    question_prefix = forms.CharField(
        label=gettext_lazy("Before questions"),
        required=False,
        max_length=100,
        strip=False,
        help_text=gettext_lazy(
            "For models that want to be told, such as “query: ” for the e5 family."
        ),
    )
    text_prefix = forms.CharField(
        label=gettext_lazy("Before texts"), required=False, max_length=100, strip=False
    )
    is_default = forms.BooleanField(
        label=gettext_lazy("Use as the team's default"),
        required=False,
        help_text=SENT_TEXTS,
    )

    @property
    def main_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in ("type", "name", "is_default")]

    @property
    def other_fields(self) -> list[forms.BoundField]:
        """Return the fields of embedding models, which most of them don't need."""
        return [self[name] for name in ("dimensions", "question_prefix", "text_prefix")]

    @property
    def has_other_errors(self) -> bool:
        return any(field.errors for field in self.other_fields)


@login_required
@require_POST
def add(request: HttpRequest, provider_id: UUID) -> HttpResponse:
    """Test an embedding or reranking model, and add it to the provider if it answers."""
    principal, provider = find_provider(request, provider_id)
    form = AddedModelForm(request.POST)
    trial = None
    if form.is_valid():
        trial = _add(request, principal, provider, form)
    if not is_htmx(request):
        if trial is None or trial.error:
            messages.error(request, trial.error if trial else _first_error(form))
        else:
            announce_trial(request, provider.name, trial)
        return redirect("workflows:providers")
    is_added = trial is not None and not form.errors and not trial.error
    context = {"added_form": AddedModelForm() if is_added else form, "trial": trial}
    response = _show_provider(request, principal, provider, context)
    if is_added or "save_anyway" in request.POST:
        response.headers["HX-Refresh"] = "true"  # the default may be another one
        announce_trial(request, provider.name, trial or ModelTrial())
    return response


@login_required
@require_POST
def test(request: HttpRequest, provider_id: UUID, model_id: UUID) -> HttpResponse:
    """Call the model, and show what it answered."""
    principal, provider = find_provider(request, provider_id)
    model = added_models.find_model(principal, provider, model_id, change=True)
    trial = added_models.test_model(principal, model=model)
    if not is_htmx(request):
        announce_trial(request, provider.name, trial)
        return redirect("workflows:providers")
    context = {"tested_model": model, "trial": trial, "added_form": AddedModelForm()}
    return _show_provider(request, principal, provider, context)


@login_required
@require_POST
def delete(request: HttpRequest, provider_id: UUID, model_id: UUID) -> HttpResponse:
    """Remove a model from its provider."""
    principal, provider = find_provider(request, provider_id)
    model = added_models.find_model(principal, provider, model_id, change=True)
    added_models.delete_model(principal, model=model)
    messages.success(request, _("Removed “%(name)s”.") % {"name": model.name})
    return redirect("workflows:providers")


@login_required
@require_POST
def set_default(request: HttpRequest, model_type: str) -> HttpResponse:
    """Set the team's default model of a type; an empty choice removes it."""
    principal, team_id = get_principal(request), get_current_team_id(request)
    if model_type not in ModelType.values:
        raise NotFound
    choice = read_text(request.POST, "choice")
    model = _find_choice(principal, team_id, choice) if choice else None
    added_models.set_default_model(principal, team_id=team_id, model_type=model_type, model=model)
    if not is_htmx(request):
        return redirect("workflows:providers")
    rows = list(added_models.list_models(principal, team_id))
    context = build_defaults_context(principal, team_id, rows) | {"saved_type": model_type}
    return render(request, "providers/_default_models.html", context)


def attach_models(
    principal: Principal, team_id: UUID, providers: Iterable[ModelProvider]
) -> list[ProviderModel]:
    """Give each provider its embedding and reranking models and the names of further ones in its list, and return all models."""
    rows = list(added_models.list_models(principal, team_id))
    for provider in providers:
        names = set(list_embedding_models(provider.model_names))
        names |= set(list_rerank_models(provider.model_names))
        # Attributes for the templates; the rows themselves have no such fields.
        values: Any = provider
        values.special_models = [row for row in rows if row.provider_id == provider.pk]
        values.suggested_models = sorted(names)[:MAX_SUGGESTIONS]
    return rows


def build_defaults_context(
    principal: Principal, team_id: UUID, rows: Sequence[ProviderModel]
) -> dict[str, Any]:
    """Return the models of each type and the default one, for the lists on the page."""
    return {
        "default_types": [
            (type_, _list_options(rows, type_), _get_default(rows, type_)) for type_ in ModelType
        ],
        "has_memory": memory_app.is_on(),
        "can_edit": permissions.may_manage(principal, team_id),
    }


def _list_options(rows: Sequence[ProviderModel], model_type: str) -> list[ModelOption]:
    return [
        ModelOption(
            str(row.pk), f"{row.provider.name} / {row.name}", icon=get_logo(row.provider.name)
        )
        for row in rows
        if row.type == model_type
    ]


def announce_trial(request: HttpRequest, provider: str, trial: ModelTrial) -> None:
    """Add a message about the model that was tried."""
    if trial.error:
        text = _("Saved the model of “%(name)s”, which could not be reached.")
        messages.warning(request, text % {"name": provider})
    else:
        text = _("The model answered.")
        messages.success(request, f"{text} {describe_trial(trial)}")


def describe_trial(trial: ModelTrial) -> str:
    """Return in a sentence what a model answered."""
    if trial.dimensions is not None:
        return _("Its vectors have %(n)s dimensions.") % {"n": trial.dimensions}
    if not trial.order:
        return ""
    order = ", ".join(map(str, trial.order))
    sentence = _("For “%(query)s” it put the texts in the order %(order)s.")
    text = sentence % {"query": TRIAL_QUERY, "order": order}
    if trial.order[0] != _ANSWER:
        text += " " + _("The text that answers, number %(n)s, is not first.") % {"n": _ANSWER}
    return text


_ANSWER = TRIAL_DOCUMENTS.index(next(text for text in TRIAL_DOCUMENTS if "Cats" in text)) + 1


def _add(
    request: HttpRequest, principal: Principal, provider: ModelProvider, form: AddedModelForm
) -> ModelTrial | None:
    values = form.cleaned_data
    options = added_models.ModelOptions(
        values["dimensions"], values["question_prefix"], values["text_prefix"]
    )
    try:
        _model, trial = added_models.add_model(
            principal,
            provider=provider,
            model_type=values["type"],
            name=values["name"],
            options=options,
            is_default=values["is_default"],
            saves_failing="save_anyway" in request.POST,
        )
    except NameTaken:
        form.add_error("name", _("This model was added already."))
        return None
    except InvalidValue as invalid:
        form.add_error(invalid.field if invalid.field in form.fields else None, str(invalid))
        return None
    return trial


def _find_choice(principal: Principal, team_id: UUID, choice: str) -> ProviderModel:
    rows = added_models.list_models(principal, team_id)
    model = rows.filter(pk=parse_id(choice)).first()
    if model is None:
        raise NotFound
    return model


def _get_default(rows: Iterable[ProviderModel], model_type: str) -> ProviderModel | None:
    return next((row for row in rows if row.type == model_type and row.is_default), None)


def _first_error(form: AddedModelForm) -> str:
    return str(next(iter(form.errors.values()))[0])


def _show_provider(
    request: HttpRequest, principal: Principal, provider: ModelProvider, context: dict[str, Any]
) -> HttpResponse:
    attach_models(principal, provider.team_id, [provider])
    trial = context.get("trial")
    context |= {
        "provider": provider,
        "can_edit": True,
        "trial_text": describe_trial(trial) if trial else "",
        "opens_form": bool(context["added_form"].is_bound),
    }
    return render(request, "providers/_provider.html", context)
