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
  client.disconnect();
  console.log("all is well");
}

main().catch((err) => {
  console.error(err);
  process.exit(1);
});
