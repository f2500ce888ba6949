// The pages of docs/partners in the bundle, as they stand there: a page's trees, and its links led
// to the dashboard's addresses. A link that leads nowhere, or a page that nobody shows, is an error.
import { readdir, readFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { blocksOf, idOf, plain } from './markdown.mjs';

const folder = join(dirname(fileURLToPath(import.meta.url)), '../docs/partners');
const pageName = /^[^/]+\.md$/;

/** Of a file: the last part of its address. The first page is about receiving callbacks. */
const slugOf = file => (file === 'README.md' ? 'callbacks' : file.replace(/\.md$/, ''));

const unlinked = (address, title) => ({ address, title });

/** Of every page: its title, and the ids of its headings. */
async function contents() {
  const files = (await readdir(folder)).filter(name => pageName.test(name));
  const read = async file => {
    const blocks = blocksOf(await readFile(join(folder, file), 'utf8'), unlinked);
    const headings = blocks.filter(([kind]) => kind === 'h');
    return [
      file,
      { title: plain(headings[0][2]), ids: headings.map(([, , words]) => idOf(words)) },
    ];
  };
  return new Map(await Promise.all(files.map(read)));
}

/** Leads the links of one page; a link that is named like its file is named like that page. */
function linksOf(file, pages, programs) {
  return (to, name) => {
    const [path, id = ''] = to.split('#');
    if (path === 'verify/') return { address: '/docs/verify', title: name };
    if (path.startsWith('verify/') && programs.has(path.slice(7)))
      return { address: `/docs/verify?file=${path.slice(7)}`, title: name };
    const page = pages.get(path || file);
    if (!page || (id && !page.ids.includes(id))) throw new Error(`a link to ${to} leads nowhere`);
    return {
      address: (path ? `/docs/${slugOf(path)}` : '') + (id && `#${id}`),
      title: name === path ? page.title : name,
    };
  };
}

export const docs = {
  name: 'docs',
  setup(build) {
    const shown = new Set();
    build.onLoad({ filter: /\/docs\/partners\/[^/]+\.md$/ }, async ({ path }) => {
      const file = basename(path);
      const programs = new Set(await readdir(join(folder, 'verify')));
      const pages = await contents();
      try {
        const blocks = blocksOf(await readFile(path, 'utf8'), linksOf(file, pages, programs));
        const { title } = pages.get(file);
        shown.add(file);
        return {
          contents: JSON.stringify({ slug: slugOf(file), title, blocks: blocks.slice(1) }),
          loader: 'json',
          watchDirs: [folder],
        };
      } catch (error) {
        return { errors: [{ text: `${file}: ${error.message}` }] };
      }
    });
    build.onEnd(async ({ errors }) => {
      const unseen = [...(await contents()).keys()].filter(file => !shown.has(file));
      if (!errors.length && unseen.length)
        return { errors: [{ text: `docs/partners: no page shows ${unseen.join(', ')}` }] };
    });
  },
};
