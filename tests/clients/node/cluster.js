// A cluster client under load, from the first argument's library, given the
// nodes of the other arguments. It writes and reads back until its input ends,
// and prints how far it is: "n <operations>", "error <text>".
const assert = require("node:assert");

const keys = 50;
// The least time from one operation to the next, in milliseconds.
const pace = 4;

function ioredis(nodes) {
  const Redis = require("ioredis");
  return new Redis.Cluster(nodes.map(([host, port]) => ({ host, port })));
}

async function nodeRedis(nodes) {
  const { createCluster } = require("redis");
  const cluster = createCluster({ rootNodes: nodes.map(([host, port]) => ({ url: `redis://${host}:${port}` })) });
  cluster.on("error", () => {});
  cluster.on("node-error", () => {});
  await cluster.connect();
  return cluster;
}

async function main() {
  const [library, ...addrs] = process.argv.slice(2);
  const nodes = addrs.map((a) => [a.split(":")[0], Number(a.split(":")[1])]);
  const client = await (library === "ioredis" ? ioredis(nodes) : nodeRedis(nodes));
  let ended = false;
  process.stdin.on("end", () => (ended = true)).resume();
  for (let n = 0; !ended; n++) {
    const turn = new Promise((resolve) => setTimeout(resolve, pace));
    const key = `${library}:${n % keys}`;
    try {
      await client.set(key, String(n));
      assert.equal(await client.get(key), String(n));
    } catch (err) {
      console.log("error " + String(err).replaceAll("\n", " "));
    }
    if (n % 10 === 0) console.log("n " + n);
    await turn;
  }
  console.log("done");
  process.exit(0);
}

main().catch((err) => {
  console.log("error " + String(err.stack).replaceAll("\n", " "));
  process.exit(1);
});
