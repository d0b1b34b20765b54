# What the rq worker does.


def add(a, b):
    return a + b


def broken():
    raise ValueError("broken on purpose")
