// Bundles the dashboard: node build.mjs --out DIR [--depfile FILE --target NAME].
//
// Leaves DIR/index.html and DIR/assets/*, each asset with a hash of its content in its name, so
// that it may be cached for ever, and each file gzipped beside it, by Zopfli: 3 % less than gzip -9. The depfile (Make syntax) names every file that went in.
import zopfli from '@gfx/zopfli';
import { build } from 'esbuild';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { minify } from 'terser';
import { docs } from './docs.mjs';

const here = dirname(fileURLToPath(import.meta.url));

// The receivers' snippets are shown as they stand in docs/partners/verify.
const snippets = {
  name: 'snippets',
  setup(build) {
    build.onLoad({ filter: /\/docs\/partners\/verify\// }, async ({ path }) => ({
      contents: await readFile(path, 'utf8'),
      loader: 'text',
    }));
  },
};

const program = {
  absWorkingDir: here,
  entryPoints: ['src/main.tsx', 'src/icon.svg'],
  bundle: true,
  minify: true,
  format: 'esm',
  target: ['es2022', 'chrome123', 'firefox120', 'safari17.5'],
  jsx: 'automatic',
  jsxImportSource: 'preact',
  loader: { '.svg': 'copy', '.woff2': 'file' },
  plugins: [snippets, docs],
  splitting: true,
  entryNames: 'assets/[name]-[hash]',
  assetNames: 'assets/[name]-[hash]',
  chunkNames: 'assets/[name]-[hash]',
  publicPath: '/',
  legalComments: 'none',
  metafile: true,
  logLevel: 'warning',
};

/** A script that waits for nothing, neither styles nor another file, shares nothing with others. */
const first = {
  ...program,
  entryPoints: ['src/first.ts'],
  format: 'iife',
  splitting: false,
  plugins: [],
};

export const parts = [program, first];

/** What the parts have been made of, and into what. */
export const together = metafiles => ({
  inputs: Object.assign({}, ...metafiles.map(({ inputs }) => inputs)),
  outputs: Object.assign({}, ...metafiles.map(({ outputs }) => outputs)),
});

/** The page, with the names that its scripts and styles have been given. */
export async function page(metafile, out) {
  const named = {};
  const nameOf = file => '/' + relative(out, resolve(here, file));
  const preloads = new Set();
  for (const [file, output] of Object.entries(metafile.outputs)) {
    const name = nameOf(file);
    if (output.entryPoint) named[output.entryPoint] = name;
    if (output.entryPoint && output.cssBundle)
      named['styles'] = '/' + relative(out, resolve(here, output.cssBundle));
    for (const input of Object.keys(output.inputs)) if (input.endsWith('.svg')) named[input] = name;
    // What the scripts import is asked for beside them, not after them.
    if (output.entryPoint === 'src/main.tsx')
      for (const { path, kind } of output.imports)
        if (kind === 'import-statement') preloads.add(nameOf(path));
  }
  const source = await readFile(join(here, 'src/index.html'), 'utf8');
  const links = [...preloads].map(to => `<link rel="modulepreload" href="${to}" />\n    `).join('');
  const template = source.replace('<script', `${links}<script`);
  return template.replace(/\{\{(.+?)\}\}/g, (_, name) => {
    if (!named[name]) throw new Error(`index.html names ${name}, which nothing makes`);
    return named[name];
  });
}

/** What esbuild has left: 3 % of the program once it is gzipped. */
async function shorten(file) {
  const source = await readFile(file, 'utf8');
  const ways = [{}, { hoist_funs: true }, { unsafe_arrows: true }].map(async way => {
    const { code } = await minify(source, {
      module: true,
      ecma: 2022,
      compress: { passes: 3, ...way },
      format: { comments: false },
    });
    return { code, size: gzipSync(code, { level: 9 }).length };
  });
  const [shortest] = (await Promise.all(ways)).sort((a, b) => a.size - b.size);
  await writeFile(file, shortest.code);
}

const pairsOf = list => list.split(',').map(one => one.split(' as '));

/** The shared file exports its names as they are inside it, without "as": 0.12 kB. They depend on
 * nothing but its own content, as the hash in its name does. */
async function shareNames(files) {
  const shared = files.find(file => /chunk-\w+\.js$/.test(file));
  const exports = /export\{([^{}]*)\};$/;
  const code = await readFile(shared, 'utf8');
  const insides = pairsOf(exports.exec(code)[1]);
  const names = new Map(insides.map(([inside, name = inside]) => [name, inside]));
  await writeFile(shared, code.replace(exports, `export{${[...names.values()].join()}};`));
  const imports = new RegExp(`(?<=import\\{)([^{}]*)(?=\\}from"[^"]*${basename(shared)}")`);
  const renamed = list =>
    pairsOf(list).map(([name, here = name]) => {
      const inside = names.get(name);
      return inside === here ? here : `${inside} as ${here}`;
    });
  for (const file of files.filter(one => one !== shared))
    await writeFile(
      file,
      (await readFile(file, 'utf8')).replace(imports, list => renamed(list)),
    );
}

async function compress(file) {
  await writeFile(`${file}.gz`, await zopfli.gzipAsync(await readFile(file), {}));
}

function argument(name) {
  const at = process.argv.indexOf(name);
  return at < 0 ? undefined : process.argv[at + 1];
}

async function main() {
  const out = resolve(argument('--out') ?? 'node_modules/.built');
  await rm(out, { recursive: true, force: true });
  const built = await Promise.all(parts.map(part => build({ ...part, outdir: out })));
  const metafile = together(built.map(({ metafile }) => metafile));
  await mkdir(out, { recursive: true });
  await writeFile(join(out, 'index.html'), await page(metafile, out));
  const files = Object.keys(metafile.outputs).map(file => resolve(here, file));
  const scripts = files.filter(file => file.endsWith('.js'));
  for (const file of scripts) await shorten(file);
  await shareNames(scripts);
  for (const file of [join(out, 'index.html'), ...files]) await compress(file);
  const depfile = argument('--depfile');
  if (depfile) {
    const inputs = [...Object.keys(metafile.inputs), 'src/index.html'];
    inputs.push('build.mjs', 'docs.mjs', 'markdown.mjs');
    const lines = inputs.map(input => ` \\\n  ${resolve(here, input).replace(/ /g, '\\ ')}`);
    await writeFile(depfile, `${argument('--target')}:${lines.join('')}\n`);
  }
}

if (import.meta.url === pathToFileURL(process.argv[1]).href)
  await main().catch(error => {
    console.error(error.message);
    process.exit(1);
  });
