// redislock over ioredis, against the node at argv[2]:argv[3]: locks that are
// taken by SET NX PX, and given back and extended by scripts.
const assert = require("node:assert");
const Redis = require("ioredis");
const redislock = require("redislock");

async function fails(promise, Kind, text) {
  try {
    await promise;
  } catch (err) {
    assert.ok(err instanceof Kind, `${err.name}: ${err.message}`);
    assert.match(err.message, text);
    return;
  }
  throw new Error(`nothing failed with ${text}`);
}

// Defaults, numbers of tries, the lock's identity, callbacks (R7, R9 to R12, R25, R27).
async function options(client, redislock) {
  const { LockAcquisitionError } = redislock;
  const first = redislock.createLock(client);
  assert.deepEqual([first.timeout, first.retries, first.delay], [10000, 0, 50]);
  redislock.setDefaults({ timeout: 30000, retries: 3, delay: 7, other: 1 });
  const later = redislock.createLock(client, { retries: "2x", delay: "none" });
  assert.deepEqual([later.timeout, later.retries, later.delay, later.other], [30000, 2, 0, undefined]);
  assert.equal(first.timeout, 10000);
  redislock.setDefaults({ timeout: 10000, retries: 0, delay: 50 });

  await client.set("rl:tries", "another");
  let tries = 0;
  const set = later._client.setAsync;
  later._client.setAsync = (...args) => (tries++, set.apply(later._client, args));
  await fails(later.acquire("rl:tries"), LockAcquisitionError, /Could not acquire lock on "rl:tries"/);
  assert.equal(tries, 3);
  later._client.setAsync = set;

  await client.del("rl:tries");
  await later.acquire("rl:tries");
  const id = await client.get("rl:tries");
  assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-1[0-9a-f]{3}-/);
  await later.release();
  await new Promise((resolve, reject) => later.acquire("rl:tries", (err) => (err ? reject(err) : resolve())));
  assert.equal(await client.get("rl:tries"), id);
  await new Promise((resolve, reject) => later.release((err) => (err ? reject(err) : resolve())));
  assert.equal(await client.exists("rl:tries"), 0);
  // Its manual has a check, its code has none.
  assert.equal(later.check, undefined);
  assert.equal(redislock.LockHeldError, undefined);
}

// What the server refuses is an error of the lock's, which is held as before (R5, R23, R24).
async function redisErrors(client, redislock) {
  const lock = redislock.createLock(client);
  await lock.acquire("rl:err");
  const id = await client.get("rl:err");
  await client.del("rl:err");
  await client.rpush("rl:err", "x");
  await fails(lock.release(), redislock.LockReleaseError, /^WRONGTYPE/);
  await fails(lock.extend(1000), redislock.LockExtendError, /^WRONGTYPE/);
  assert.ok(redislock.getAcquiredLocks().includes(lock));
  await client.set("rl:err", id);
  await client.script("FLUSH");
  await lock.release();
  assert.equal(await client.exists("rl:err"), 0);
}

async function main() {
  const { LockAcquisitionError, LockReleaseError, LockExtendError } = redislock;
  const client = new Redis({ host: process.argv[2], port: Number(process.argv[3]) });
  const [a, b] = [redislock.createLock(client, { timeout: 20000 }), redislock.createLock(client, { timeout: 20000 })];
  // R2, R6, R8, R13, R16
  await a.acquire("rl:k");
  assert.equal(redislock.getAcquiredLocks().length, 1);
  // R14, R15, R17, R19, R20, R26
  await fails(a.acquire("rl:k"), LockAcquisitionError, /already held/);
  await fails(b.acquire("rl:k"), LockAcquisitionError, /Could not acquire lock on "rl:k"/);
  await fails(b.release(), LockReleaseError, /has not been acquired/);
  await fails(b.extend(1000), LockExtendError, /has not been acquired/);
  await fails(a.extend(0), LockExtendError, /Int time is required/);
  // R4, R5, R22
  await a.extend(60000);
  const left = await client.pttl("rl:k");
  assert.ok(left > 30000 && left <= 60000, `${left} ms`);
  // R3
  await a.release();
  assert.equal(await client.exists("rl:k"), 0);

  // The next one waits for it, and gets it (R9, R10).
  await a.acquire("rl:k");
  const patient = redislock.createLock(client, { timeout: 20000, retries: -1, delay: 5 });
  const waiting = patient.acquire("rl:k");
  await a.release();
  await waiting;
  await patient.release();

  // One that expired is another's, and stays so (R18, R21, R30, R31, R35).
  await a.acquire("rl:k");
  await client.del("rl:k");
  await b.acquire("rl:k");
  await fails(a.extend(1000), LockExtendError, /had expired/);
  await client.del("rl:k");
  await a.acquire("rl:k");
  await client.set("rl:k", "another");
  await fails(a.release(), LockReleaseError, /had expired/);
  assert.equal(await client.get("rl:k"), "another");

  await options(client, redislock);
  await redisErrors(client, redislock);
  client.disconnect();
  console.log("all is well");
}

main().catch((err) => {
  console.error(err);
  process.exit(1);
});
