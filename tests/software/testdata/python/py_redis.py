# What a user of redis-py does, against the node at argv[1]:argv[2].
import sys
import threading

import redis

HOST, PORT = sys.argv[1], int(sys.argv[2])


def same(got, want):
    if got != want:
        raise AssertionError(f"{got!r}, not {want!r}")


def values(r):
    same(r.set("py:s", "value", ex=60), True)
    same(r.get("py:s"), "value")
    same(r.set("py:s", "other", nx=True), None)
    assert 0 < r.ttl("py:s") <= 60
    same(r.hset("py:h", mapping={"a": 1, "b": 2}), 2)
    same(r.hgetall("py:h"), {"a": "1", "b": "2"})
    same(r.rpush("py:l", 1, 2, 3), 3)
    same(r.lrange("py:l", 0, -1), ["1", "2", "3"])
    same(r.sadd("py:set", "x", "y"), 2)
    same(r.smembers("py:set"), {"x", "y"})
    same(r.zadd("py:z", {"one": 1, "half": 0.5}), 2)
    same(r.zrange("py:z", 0, -1, withscores=True), [("half", 0.5), ("one", 1.0)])
    same(r.zincrby("py:z", 0.1, "half"), 0.6)
    same(r.geoadd("py:geo", (13.361389, 38.115556, "Palermo", 15.087269, 37.502669, "Catania")), 2)
    same(round(r.geodist("py:geo", "Palermo", "Catania", unit="km")), 166)
    same(r.setbit("py:bits", 7, 1), 0)
    same(r.bitcount("py:bits"), 1)
    same(r.pfadd("py:hll", *range(100)), 1)
    assert 95 <= r.pfcount("py:hll") <= 105
    same(r.sort("py:l", desc=True), ["3", "2", "1"])
    same(sorted(r.scan_iter("py:[hl]", count=2)), ["py:h", "py:l"])
    same(r.object("encoding", "py:h"), "listpack")
    try:
        r.incr("py:l")
        raise AssertionError("INCR of a list went well")
    except redis.ResponseError as err:
        same(str(err), "WRONGTYPE Operation against a key holding the wrong kind of value")


def transactions(r):
    with r.pipeline(transaction=True) as p:
        same(p.set("py:t", 1).incr("py:t").get("py:t").execute(), [True, 2, "2"])
    with r.pipeline(transaction=False) as p:
        for i in range(1000):
            p.rpush("py:many", i)
        same(p.execute(), list(range(1, 1001)))
    tries = []

    def add(p):
        n = int(p.get("py:t"))
        if not tries:
            r.set("py:t", 10)
        tries.append(n)
        p.multi()
        p.set("py:t", n + 1)

    same(r.transaction(add, "py:t"), [True])
    same(tries, [2, 10])
    same(r.get("py:t"), "11")


def messages(r):
    sub = r.pubsub()
    sub.subscribe("py:channel")
    sub.psubscribe("py:*")
    same([sub.get_message(timeout=30)["type"] for _ in range(2)], ["subscribe", "psubscribe"])
    same(r.publish("py:channel", "hello"), 2)
    got = [sub.get_message(timeout=30) for _ in range(2)]
    same(sorted((m["type"], m["channel"], m["data"]) for m in got),
         [("message", "py:channel", "hello"), ("pmessage", "py:channel", "hello")])
    same(r.pubsub_numsub("py:channel"), [("py:channel", 1)])
    sub.close()


def waiting(r):
    got = []
    worker = threading.Thread(target=lambda: got.append(r.blpop(["py:q1", "py:q2"], timeout=60)))
    worker.start()
    same(r.rpush("py:q2", "job"), 1)
    worker.join(60)
    same(got, [("py:q2", "job")])
    same(r.blpop("py:q1", timeout=0.05), None)


def streams(r):
    first = r.xadd("py:x", {"n": "1"})
    r.xadd("py:x", {"n": "2"})
    same(r.xgroup_create("py:x", "g", id="0"), True)
    [[name, entries]] = r.xreadgroup("g", "alice", {"py:x": ">"}, count=1, block=1000)
    same((name, entries), ("py:x", [(first, {"n": "1"})]))
    same(r.xpending("py:x", "g"), {"pending": 1, "min": first, "max": first, "consumers": [{"name": "alice", "pending": 1}]})
    same(r.xclaim("py:x", "g", "bob", 0, [first]), [(first, {"n": "1"})])
    same(r.xack("py:x", "g", first), 1)
    same(r.xinfo_groups("py:x")[0]["entries-read"], 1)
    same(r.xinfo_stream("py:x")["length"], 2)


def administration(r):
    info = r.info()
    same(info["cluster_enabled"], 1)
    assert info["db0"]["keys"] > 0, info
    same(r.config_get("maxmemory"), {"maxmemory": "0"})
    same(r.client_setname("py"), True)
    assert "py" in [c["name"] for c in r.client_list()]
    assert r.command()["get"]["arity"] == 2
    assert r.slowlog_get() is not None
    assert r.time()[0] > 0
    assert r.dbsize() > 0


def cluster():
    c = redis.RedisCluster(host=HOST, port=PORT, decode_responses=True)
    for i in range(50):
        same(c.set(f"py:c:{i}", i), True)
    same([c.get(f"py:c:{i}") for i in range(50)], [str(i) for i in range(50)])
    same(c.mset_nonatomic({"py:c:0": "a", "py:c:1": "b"}), [True, True])
    c.close()


def main():
    r = redis.Redis(HOST, PORT, decode_responses=True)
    for step in (values, transactions, messages, waiting, streams):
        step(r)
    if "--alone" not in sys.argv:
        administration(r)
        cluster()
    print("all is well")


main()
