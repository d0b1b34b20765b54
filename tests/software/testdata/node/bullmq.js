// BullMQ, against the node at argv[2]:argv[3]: jobs at once and delayed, retries,
// a rate limit; it is scripts from one end to the other.
const assert = require("node:assert");
const { Queue, Worker, QueueEvents } = require("bullmq");

async function until(what, ok) {
  for (const deadline = Date.now() + 60000; !(await ok()); ) {
    if (Date.now() > deadline) throw new Error("waited in vain: " + what);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

async function main() {
  const connection = { host: process.argv[2], port: Number(process.argv[3]), maxRetriesPerRequest: null };
  const queue = new Queue("work", { connection });
  const events = new QueueEvents("work", { connection });
  await events.waitUntilReady();
  const done = [];
  const worker = new Worker("work", async (job) => {
    if (job.name === "twice" && job.attemptsMade === 0) throw new Error("not yet");
    done.push(job.data.n);
    return job.data.n * 2;
  }, { connection, concurrency: 4 });
  const failed = [];
  worker.on("failed", (job) => failed.push(job.id));

  const jobs = await queue.addBulk(Array.from({ length: 50 }, (_, n) => ({ name: "now", data: { n } })));
  assert.equal(await jobs[7].waitUntilFinished(events, 60000), 14);
  const late = await queue.add("later", { n: 100 }, { delay: 500 });
  // So late that no busy machine gets there first.
  const never = await queue.add("later", { n: -1 }, { delay: 3600000 });
  assert.equal(await never.getState(), "delayed");
  await never.remove();
  const twice = await queue.add("twice", { n: 200 }, { attempts: 2, backoff: 10 });
  assert.equal(await twice.waitUntilFinished(events, 60000), 400);
  assert.equal(await late.waitUntilFinished(events, 60000), 200);
  await until("all jobs are done", () => done.length === 52);
  assert.deepEqual([...done].sort((a, b) => a - b), [...Array(50).keys(), 100, 200]);
  assert.deepEqual(failed, [twice.id]);
  assert.equal((await queue.getJobCounts("completed")).completed, 52);
  await worker.close();

  const limited = new Queue("limited", { connection });
  await limited.addBulk(Array.from({ length: 15 }, (_, n) => ({ name: "x", data: { n } })));
  // The first of them is taken behind this, and told of as late as the machine likes.
  const began = Date.now();
  const times = [];
  const slow = new Worker("limited", async () => times.push(Date.now() - began), { connection, limiter: { max: 5, duration: 400 } });
  await until("the limited jobs are done", () => times.length === 15);
  assert.ok(times[14] >= 700, `15 jobs in ${times[14]} ms`);
  await slow.close();
  await queue.obliterate({ force: true });
  assert.equal((await queue.getJobCounts("completed")).completed, 0);
  await Promise.all([limited.close(), queue.close(), events.close()]);
  console.log("all is well");
}

main().catch((err) => {
  console.error(err);
  process.exit(1);
});
