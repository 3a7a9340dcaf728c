from config.embedded.backoff import MAX_DELAY, STABLE_AFTER, Backoff


class Clock:
    def __init__(self) -> None:
        self.time = 0.0

    def __call__(self) -> float:
        return self.time


def test_backoff_starts_at_once_the_first_time_then_later_and_later():
    backoff = Backoff(now=Clock())

    delays = [backoff.record_end() for _ in range(9)]

    assert delays == [0, 0.5, 1, 2, 4, 8, 16, MAX_DELAY, MAX_DELAY]


def test_backoff_starts_over_after_a_process_that_ran_long_enough():
    clock = Clock()
    backoff = Backoff(now=clock)
    quick = [backoff.record_end() for _ in range(4)]
    backoff.record_start()
    clock.time += STABLE_AFTER
    after_long = backoff.record_end()
    backoff.record_start()

    assert (quick[-1], after_long, backoff.record_end()) == (2, 0, 0.5)
