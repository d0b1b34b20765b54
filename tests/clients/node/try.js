// What an ioredis user does, against the node at argv[2]:argv[3].
const Redis = require("ioredis");
const assert = require("node:assert");

async function main() {
  const [host, port] = [process.argv[2], Number(process.argv[3])];
  const redis = new Redis({ host, port });
  assert.equal(await redis.set("ioredis", "value", "EX", 60), "OK");
  assert.equal(await redis.get("ioredis"), "value");
  const replies = await redis.pipeline().incr("ioredis:n").incr("ioredis:n").get("ioredis:n").exec();
  assert.equal(Number(replies[2][1]), replies[1][1]);
  const txn = await redis.multi().set("ioredis:t", "1").get("ioredis:t").exec();
  assert.deepEqual(txn, [[null, "OK"], [null, "1"]]);
  redis.disconnect();
  const cluster = new Redis.Cluster([{ host, port }]);
  assert.equal(await cluster.set("ioredis:c", "value"), "OK");
  assert.equal(await cluster.get("ioredis:c"), "value");
  cluster.disconnect();
  console.log("all is well");
}

main().catch((err) => {
  console.error(err);
  process.exit(1);
});
