# Work for the Celery worker beside it (tasks.py), and what comes of it.
import sys

from celery import chain, chord, group

from tasks import add, app, broken, flaky, total

PATIENCE = 90


def same(got, want):
    if got != want:
        raise AssertionError(f"{got!r}, not {want!r}")


def main():
    same(add.delay(2, 3).get(timeout=PATIENCE), 5)
    same(group(add.s(i, i) for i in range(20))().get(timeout=PATIENCE), [2 * i for i in range(20)])
    same(chain(add.s(1, 2), add.s(10))().get(timeout=PATIENCE), 13)
    same(chord((add.s(i, 1) for i in range(5)), total.s())().get(timeout=PATIENCE), 15)
    same(flaky.delay().get(timeout=PATIENCE), 2)
    same(add.apply_async((1, 1), countdown=0.2).get(timeout=PATIENCE), 2)
    try:
        broken.delay().get(timeout=PATIENCE)
        raise AssertionError("the broken task went well")
    except ValueError as err:
        same(str(err), "broken on purpose")
    same([list(reply.values()) for reply in app.control.ping(timeout=PATIENCE, limit=1)], [[{"ok": "pong"}]])
    print("all is well")


main()
