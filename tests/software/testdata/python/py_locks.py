# Locks of redis-py, against the node at argv[1]:argv[2]: eight threads add to a
# number that only a lock protects.
import sys
import threading

import redis


def main():
    r = redis.Redis(sys.argv[1], int(sys.argv[2]), decode_responses=True)
    r.set("py:n", 0)

    def add():
        for _ in range(10):
            with r.lock("py:lock", timeout=60, sleep=0.005):
                r.set("py:n", int(r.get("py:n")) + 1)

    threads = [threading.Thread(target=add) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(100)
    assert r.get("py:n") == "80", r.get("py:n")
    lock = r.lock("py:other", timeout=60)
    assert lock.acquire(blocking=False)
    assert not r.lock("py:other", timeout=60).acquire(blocking=False)
    assert lock.extend(60)
    assert r.ttl("py:other") > 100
    lock.release()
    try:
        lock.release()
        raise AssertionError("a lock was released twice")
    except redis.exceptions.LockError:
        pass
    print("all is well")


main()
