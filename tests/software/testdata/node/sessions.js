// connect-redis and express-session over node-redis, against the node at
// argv[2]:argv[3]: a web server that counts each visitor's visits.
const assert = require("node:assert");
const http = require("node:http");
const session = require("express-session");
const { RedisStore } = require("connect-redis");
const { createClient } = require("redis");

// serve is the web server, started again with every call.
function serve(store) {
  const sessions = session({ store, secret: "kept in a test", resave: false, saveUninitialized: false, cookie: { maxAge: 60000 } });
  const server = http.createServer((req, res) => {
    sessions(req, res, () => {
      if (req.url === "/leave") {
        req.session.destroy((err) => res.end(err ? String(err) : "bye"));
        return;
      }
      req.session.visits = (req.session.visits || 0) + 1;
      res.end(String(req.session.visits));
    });
  });
  return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(server)));
}

// visitor is a browser: it keeps its cookie.
function visitor() {
  let cookie = "";
  return async (server, path = "/") => {
    const res = await fetch(`http://127.0.0.1:${server.address().port}${path}`, { headers: { cookie } });
    const [given] = res.headers.getSetCookie();
    if (given) cookie = given.split(";")[0];
    return res.text();
  };
}

async function main() {
  const client = createClient({ socket: { host: process.argv[2], port: Number(process.argv[3]) } });
  client.on("error", (err) => console.error(err));
  await client.connect();
  const store = new RedisStore({ client, prefix: "express:" });
  const [ann, bob] = [visitor(), visitor()];
  const first = await serve(store);
  assert.equal(await ann(first), "1");
  assert.equal(await ann(first), "2");
  assert.equal(await bob(first), "1");
  first.close();
  const second = await serve(store);
  assert.equal(await ann(second), "3");
  assert.equal(await store.length(), 2);
  assert.deepEqual((await store.all()).map((s) => s.visits).sort(), [1, 3]);
  for (const id of await store.ids()) {
    const seconds = await client.ttl("express:" + id);
    assert.ok(seconds > 0 && seconds <= 60, `${seconds} s`);
  }
  assert.equal(await bob(second, "/leave"), "bye");
  assert.equal(await bob(second), "1");
  await store.clear();
  assert.equal(await store.length(), 0);
  assert.equal(await ann(second), "1");
  second.close();
  client.destroy();
  console.log("all is well");
}

main().catch((err) => {
  console.error(err);
  process.exit(1);
});
