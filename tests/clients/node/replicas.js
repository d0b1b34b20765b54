// Reads from replicas with ioredis, given the nodes of the arguments: what was
// written through a leader is read at replicas in the end.
const Redis = require("ioredis");
const assert = require("node:assert");

async function main() {
  const nodes = process.argv.slice(2).map((a) => ({ host: a.split(":")[0], port: Number(a.split(":")[1]) }));
  const leaders = new Redis.Cluster(nodes);
  const replicas = new Redis.Cluster(nodes, { scaleReads: "slave" });
  for (let i = 0; i < 20; i++) {
    const key = `replicas:${i}`;
    assert.equal(await leaders.set(key, String(i)), "OK");
    const deadline = Date.now() + 30000;
    while ((await replicas.get(key)) !== String(i)) assert.ok(Date.now() < deadline, key + " does not come");
  }
  console.log("all is well");
  process.exit(0);
}

main().catch((err) => {
  console.error(err);
  process.exit(1);
});
