// A real HTTP/2 client: Node's own, on one connection. All requests are sent at once; prints a line
// of JSON for each answer, in the order of their ends, or for each piece of one that has "pieces".
// usage: node http2_client.js PORT CA-FILE < [{"headers": {":path": ...}, "body": ..., "pieces": N}, ...]
const fs = require("fs"), http2 = require("http2");
const [port, ca] = process.argv.slice(2);
const client = http2.connect("https://localhost:" + port, { ca: fs.readFileSync(ca) });
const requests = JSON.parse(fs.readFileSync(0));
let open = requests.length;
const say = (n, more) => console.log(JSON.stringify({ n, ...more }));
requests.forEach(({ headers, body, pieces }, n) => {
  const stream = client.request(headers), parts = [];
  let status = 0, left = pieces;
  stream.on("response", (h) => { status = h[":status"]; });
  stream.on("data", (part) => {
    parts.push(part);
    if (pieces) say(n, { status, piece: part.toString() });
    if (pieces && --left === 0) stream.close(http2.constants.NGHTTP2_CANCEL);
  });
  stream.on("error", (e) => say(n, { error: e.message }));
  stream.on("end", () => pieces || say(n, { status, body: Buffer.concat(parts).toString() }));
  stream.on("close", () => --open || client.close());
  stream.end(body);
});
