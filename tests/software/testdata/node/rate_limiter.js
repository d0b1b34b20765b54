// rate-limiter-flexible over ioredis, against the node at argv[2]:argv[3]: the
// limiters that need no script, and with --scripts the one that does.
const assert = require("node:assert");
const Redis = require("ioredis");
const { RateLimiterRedis, RateLimiterRedisNonAtomic } = require("rate-limiter-flexible");

// refused is what a limiter throws when the points are used up.
async function refused(promise) {
  try {
    await promise;
  } catch (res) {
    if (res instanceof Error) throw res;
    return res;
  }
  throw new Error("the limiter let it pass");
}

async function inTurn(limiter) {
  for (let i = 1; i <= 5; i++) {
    assert.equal((await limiter.consume("user")).remainingPoints, 5 - i);
  }
  assert.equal((await refused(limiter.consume("user"))).consumedPoints, 6);
  assert.equal((await limiter.consume("another")).remainingPoints, 4);
  assert.equal((await limiter.get("user")).consumedPoints, 6);
  assert.equal((await limiter.reward("user", 4)).consumedPoints, 2);
  assert.equal((await limiter.penalty("user", 2)).consumedPoints, 4);
  assert.equal(await limiter.delete("user"), true);
  assert.equal(await limiter.get("user"), null);
  await limiter.block("user", 60);
  const res = await refused(limiter.consume("user"));
  assert.ok(res.msBeforeNext > 0 && res.msBeforeNext <= 60000, `${res.msBeforeNext} ms`);
}

// Of those that come at once no more than the points get through.
async function atOnce(limiter) {
  const all = await Promise.allSettled(Array.from({ length: 50 }, () => limiter.consume("crowd")));
  assert.equal(all.filter((r) => r.status === "fulfilled").length, 5);
}

async function main() {
  const storeClient = new Redis({ host: process.argv[2], port: Number(process.argv[3]) });
  const options = (keyPrefix, duration) => ({ storeClient, keyPrefix, points: 5, duration });
  if (process.argv.includes("--scripts")) {
    const limiter = new RateLimiterRedis(options("rlf:script", 60));
    await inTurn(limiter);
    await atOnce(limiter);
  } else {
    await inTurn(new RateLimiterRedisNonAtomic(options("rlf:window", 60)));
    const forever = new RateLimiterRedis(options("rlf:forever", 0));
    await inTurn(forever);
    await atOnce(forever);
  }
  storeClient.disconnect();
  console.log("all is well");
}

main().catch((err) => {
  console.error(err);
  process.exit(1);
});
