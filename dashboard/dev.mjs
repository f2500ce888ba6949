// For working on the pages: node dev.mjs DAEMON-URL [PORT]. Rebuilds when a source changes, serves
// the page with the daemon's own headers left out, and hands everything else to the daemon.
import { context } from 'esbuild';
import { createServer, request } from 'node:http';
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { page, parts, together } from './build.mjs';

const daemon = new URL(process.argv[2] ?? 'http://127.0.0.1:8080');
const port = Number(process.argv[3] ?? 5173);
const out = resolve('node_modules/.dev');
let html = '';

const made = [];
for (const [n, part] of parts.entries()) {
  const remember = {
    name: 'page',
    setup(build) {
      build.onEnd(async ({ metafile }) => {
        if (metafile) made[n] = metafile;
        if (made.filter(Boolean).length === parts.length) html = await page(together(made), out);
      });
    },
  };
  const plugins = [...part.plugins, remember];
  const bundler = await context({ ...part, outdir: out, minify: false, sourcemap: true, plugins });
  await bundler.watch();
}

const types = {
  js: 'text/javascript',
  css: 'text/css',
  svg: 'image/svg+xml',
  woff2: 'font/woff2',
  map: 'application/json',
};

createServer(async (from, to) => {
  const { pathname } = new URL(from.url, 'http://x');
  if (pathname.startsWith('/assets/')) {
    const body = await readFile(join(out, pathname)).catch(() => null);
    to.writeHead(body ? 200 : 404, { 'Content-Type': types[pathname.split('.').pop()] ?? '' });
    to.end(body);
  } else if ((from.headers.accept ?? '').includes('text/html')) {
    to.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8' });
    to.end(html);
  } else {
    const headers = { ...from.headers, host: daemon.host };
    if (headers.origin) headers.origin = daemon.origin;
    const on = request(new URL(from.url, daemon), { method: from.method, headers }, answer => {
      to.writeHead(answer.statusCode, answer.headers);
      answer.pipe(to);
    });
    on.on('error', () => to.destroy());
    from.pipe(on);
  }
}).listen(port, '127.0.0.1', () => console.log(`http://127.0.0.1:${port} in front of ${daemon}`));
