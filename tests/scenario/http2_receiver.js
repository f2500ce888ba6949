// A real HTTP/2 receiver: Node's own server. Prints its port, then a line of JSON per request.
// usage: node http2_receiver.js CERT KEY [STATUS [MAX-STREAMS]]
const fs = require("fs"), http2 = require("http2");
const [cert, key, status, streams] = process.argv.slice(2);
const server = http2.createSecureServer({
  cert: fs.readFileSync(cert), key: fs.readFileSync(key), allowHTTP1: true,
  settings: streams ? { maxConcurrentStreams: Number(streams) } : {},
});
let connections = 0, open = 0, most = 0;
server.on("secureConnection", (s) => { s.number = ++connections; });
server.on("request", (request, response) => {
  const parts = [];
  most = Math.max(most, ++open);
  request.on("data", (part) => parts.push(part));
  request.on("end", () => setTimeout(() => {
    open--;
    console.log(JSON.stringify({
      version: request.httpVersion, headers: request.headers, method: request.method,
      path: request.url, body: Buffer.concat(parts).toString(), connections, most,
      resumed: (request.stream ? request.stream.session.socket : request.socket).isSessionReused(),
    }));
    response.setHeader("x-from", "node");
    response.writeHead(Number(status || 200));
    response.end("thanks");
  }, 2));
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
process.stdin.on("close", () => process.exit(0)).resume();
