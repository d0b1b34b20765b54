# Work for an rq worker that runs beside it, and what comes of it: against the
# node at argv[1]:argv[2].
import sys
import threading
from datetime import timedelta

import redis
from rq import Queue, Worker
from rq.job import Job
from rq.registry import FailedJobRegistry, FinishedJobRegistry, ScheduledJobRegistry

import jobs

PATIENCE = 90


def same(got, want):
    if got != want:
        raise AssertionError(f"{got!r}, not {want!r}")


def until(what, condition):
    tick, ticks = threading.Event(), PATIENCE * 20
    for _ in range(ticks):
        got = condition()
        if got:
            return got
        tick.wait(0.05)
    raise AssertionError(f"waited in vain: {what}")


def ended(job):
    return until(f"{job} has a result", job.latest_result)


def main():
    connection = redis.Redis(sys.argv[1], int(sys.argv[2]))
    queue = Queue("rq-test", connection=connection)
    until("a worker is there", lambda: Worker.all(queue=queue))
    done = [queue.enqueue(jobs.add, i, i) for i in range(5)]
    same([ended(job).return_value for job in done], [0, 2, 4, 6, 8])
    last = queue.enqueue(jobs.add, 1, 1, depends_on=done[-1])
    same(ended(last).return_value, 2)
    failed = queue.enqueue(jobs.broken)
    result = ended(failed)
    same(result.type.name, "FAILED")
    assert "broken on purpose" in result.exc_string, result.exc_string
    until("the failed job is registered", lambda: failed.id in FailedJobRegistry(queue=queue))
    later = queue.enqueue_in(timedelta(seconds=1), jobs.add, 2, 3)
    assert later.id in ScheduledJobRegistry(queue=queue) or ended(later).return_value == 5
    same(ended(later).return_value, 5)
    until("the jobs are registered as finished", lambda: {j.id for j in done} <= set(FinishedJobRegistry(queue=queue).get_job_ids()))
    same(Job.fetch(last.id, connection=connection).result, 2)
    same(queue.count, 0)
    print("all is well")


main()
