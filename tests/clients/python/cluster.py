"""redis-py's cluster client under load, given the nodes as arguments. It writes and
reads back until its input ends, and prints how far it is, as cluster.js does."""

import logging
import sys
import threading

from redis.cluster import ClusterNode, RedisCluster

KEYS = 50

# How long it rests between two operations, in seconds.
PACE = 0.004

# It logs each MOVED that it follows, as if that were a failure.
logging.disable(logging.CRITICAL)

ended = threading.Event()


def wait_for_end():
    sys.stdin.read()
    ended.set()


def say(text):
    print(text.replace("\n", " "), flush=True)


def main():
    nodes = [ClusterNode(*a.split(":")) for a in sys.argv[1:]]
    client = RedisCluster(startup_nodes=nodes)
    threading.Thread(target=wait_for_end, daemon=True).start()
    n = 0
    while not ended.is_set():
        key = "redis-py:%d" % (n % KEYS)
        try:
            client.set(key, n)
            got = client.get(key)
            if got != b"%d" % n:
                say("error %s is %r, not %d" % (key, got, n))
        except Exception as err:
            say("error %s %s" % (type(err).__name__, err))
        if n % 10 == 0:
            say("n %d" % n)
        n += 1
        ended.wait(PACE)
    say("done")


main()
