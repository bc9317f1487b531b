from __future__ import annotations

import random

import numpy as np
import pytest

from proctor.training.keeping import undisturbed

torch = pytest.importorskip("torch")


class Counter:
    def __init__(self):
        self.value = 3

    def state(self):
        return self.value

    def restore(self, state):
        self.value = state


class Stubborn(Counter):
    def restore(self, state):
        raise RuntimeError("cannot be put back")


def generators():
    return random.getstate(), np.random.get_state()[1].tobytes(), torch.get_rng_state().tolist()  # noqa: NPY002


def draw():
    random.random(), np.random.rand(), torch.rand(3)  # noqa: NPY002


def network():
    model = torch.nn.Sequential(torch.nn.BatchNorm1d(2), torch.nn.Dropout(), torch.nn.Linear(2, 2))
    model.train()
    model[0].eval()
    return model


@pytest.mark.parametrize("breaks", [False, True])
def test_everything_is_given_back(breaks):
    model, counter, before = network(), Counter(), generators()
    try:
        with undisturbed(counter, model=model):
            assert not any(module.training for module in model.modules())
            draw()
            counter.value = 99
            if breaks:
                raise KeyError("inside")
    except KeyError:
        assert breaks
    assert generators() == before
    assert [module.training for module in model] == [False, True, True]
    assert model.training
    assert counter.value == 3


def test_statistics_of_a_model_do_not_move():
    model = network()
    model[0].train()
    before = {key: value.clone() for key, value in model.state_dict().items()}
    with undisturbed(model=model):
        model(torch.rand(4, 2))
    assert all(torch.equal(before[key], value) for key, value in model.state_dict().items())


def test_one_that_cannot_be_put_back_does_not_keep_the_others_from_it():
    counter, before = Counter(), generators()

    def disturb():
        with undisturbed(counter, Stubborn()):
            draw()
            counter.value = 99

    with pytest.raises(RuntimeError, match="cannot be put back"):
        disturb()
    assert counter.value == 3
    assert generators() == before


def test_a_model_that_is_no_module_is_left_alone():
    model = object()
    with undisturbed(model=model):
        pass
