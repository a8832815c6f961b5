"""The settings of players without search: each is shown, read and refused in one way."""

from __future__ import annotations

from dataclasses import fields

import pytest

from tabiya.minds.resnet.settings import Settings as ResNetSettings
from tabiya.minds.transformer.settings import Settings as TransformerSettings
from tabiya.player import PlayerError, PlayerName
from tabiya.searchless.settings import SearchlessSettings

MINDS = pytest.mark.parametrize("settings", [ResNetSettings, TransformerSettings])


@MINDS
def test_every_setting_says_what_it_may_be_and_takes_its_own_default(settings: type[SearchlessSettings]):
    assert sorted(settings.ALLOWED) == sorted(field.name for field in fields(settings))
    for option in settings.options():
        assert settings().changed(option.name.upper(), option.default) == settings()


def test_settings_are_shown_beside_what_they_belong_to():
    common = ["stalemate", "margin", "prior", "value", "threads", "seed"]
    shown = [option.name for option in ResNetSettings.options()]
    assert shown == ["mode", "temperature", "top_p", "mix", "repetition", *common]
    shown = [option.name for option in TransformerSettings.options()]
    assert shown == ["mode", "passes", "temperature", "top_p", "repetition", *common]


@MINDS
@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("sead", "1", "{mind} has no option 'sead', did you mean 'seed'?"),
        ("xyzzy", "1", "{mind} has no option 'xyzzy'; there are {names}"),
        ("repetition", "never", "repetition must be one of {repetitions}, not 'never'"),
        ("stalemate", "never", "stalemate must be one of refuse, allow, not 'never'"),
        ("seed", "1.0", "seed must be a whole number, not '1.0'"),
        ("margin", "wide", "margin must be a number, not 'wide'"),
        ("margin", "inf", "margin must lie between -0.5 and 0.5, not inf"),
        ("threads", "257", "threads must lie between 1 and 256, not 257"),
    ],
)
def test_a_wrong_setting_is_answered_with_what_would_be_right(
    settings: type[SearchlessSettings], name: str, text: str, sentence: str
):
    repetitions = {option.name: option for option in settings.options()}["repetition"].choices
    expected = sentence.format(
        mind=settings.MIND, names=", ".join(settings.ALLOWED), repetitions=", ".join(repetitions)
    )
    with pytest.raises(ValueError, match=r"option|must") as caught:
        settings().changed(name, text)
    assert str(caught.value) == expected


def test_a_written_name_changes_settings_and_may_have_no_part():
    name = PlayerName.parse("resnet?mode=Q&MIX=0.25")
    assert name.applied_to(ResNetSettings()) == ResNetSettings(mode="q", mix=0.25)
    with pytest.raises(PlayerError, match="mix must lie between 0 and 1, not 3"):
        PlayerName.parse("resnet?mix=3").applied_to(ResNetSettings())
    with pytest.raises(PlayerError, match="resnet has no parts to choose from, got #7"):
        PlayerName.parse("resnet:main.onnx#7").applied_to(ResNetSettings())
