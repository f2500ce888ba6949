// What somebody reads who writes a receiver: the pages of docs/partners with the account's own
// values in them, a search over all of them, and the check in six languages.
import { useEffect, useState } from 'preact/hooks';
import { idOf, plain } from '../../../markdown.mjs';
import type { PageProps } from '../../app/routes';
import { address, cameBack, query, setQuery } from '../../app/router';
import { useResource } from '../../app/resource';
import '../../app/root';
import { NotFoundPage } from '../../app/shell';
import { Card, Code, Empty, Loading, Notice, PageHead, ProblemNotice } from '../../ui/basics';
import { TextField } from '../../ui/forms';
import { excerpt, find, wordsOf } from './find';
import { docPages, type Block, type DocPage } from './pages';
import { ProgramsCard } from './programs';
import { DocText } from './text';
import { appOf, fill, OwnValues, useOwn } from './values';

interface Description {
  'x-egress-addresses'?: string[];
}

function EgressCard() {
  const { data, problem, reload } = useResource<Description>('/openapi.json');
  const addresses = data?.['x-egress-addresses'] ?? [];
  return (
    <Card
      title="Where callbacks come from"
      text="If your receiver is behind a firewall, allow these addresses."
    >
      <ProblemNotice problem={problem} retry={reload} />
      {!data && !problem && <Loading />}
      {data &&
        (addresses.length ? (
          <Code title="Egress addresses" text={addresses.join('\n')} />
        ) : (
          <Notice title="No fixed address">
            The addresses that callbacks come from are not fixed. Do not filter by address: verify
            the signature, which is the stronger check.
          </Notice>
        ))}
    </Card>
  );
}

function Found({ asked }: { asked: string }) {
  const sections = find(asked);
  const words = wordsOf(asked);
  if (!sections.length)
    return (
      <Card>
        <Empty title="Nothing found">All words must be in the same section. Try fewer words.</Empty>
      </Card>
    );
  return (
    <Card title="Found">
      <ul class="doc-list">
        {sections.map(({ href, page, heading, text }) => {
          const [before, word, after] = excerpt(text, words);
          return (
            <li key={href}>
              <a href={href}>{heading ? `${page}: ${heading}` : page}</a>
              <div class="quiet">
                {before}
                <mark>{word}</mark>
                {after}
              </div>
            </li>
          );
        })}
      </ul>
    </Card>
  );
}

/** The first sentence of a page. */
function firstWords({ blocks }: DocPage): string {
  const first = blocks.find(block => block[0] === 'p');
  return first
    ? plain(first[1] as never)
        .split(/(?<=[.:]) /)[0]!
        .replace(/:$/, '.')
    : '';
}

function Contents() {
  return (
    <Card title="Pages">
      <ul class="doc-list">
        {docPages.map(page => (
          <li key={page.slug}>
            <a href={`/docs/${page.slug}`}>{page.title}</a>
            <div class="quiet">{firstWords(page)}</div>
          </li>
        ))}
        <li>
          <a href="/docs/verify">Programs that verify a callback</a>
          <div class="quiet">In six languages and the usual frameworks.</div>
        </li>
      </ul>
    </Card>
  );
}

function OnThisPage({ blocks }: { blocks: Block[] }) {
  const headings = blocks.filter(block => block[0] === 'h' && block[1] === 2);
  if (headings.length < 3) return null;
  return (
    <nav class="doc-contents" aria-label="On this page">
      {headings.map(block =>
        block[0] === 'h' ? (
          <a key={block[2]} href={`#${idOf(block[2])}`}>
            {plain(block[2])}
          </a>
        ) : null,
      )}
    </nav>
  );
}

/** Where the address says so, once the page is there. */
function useAnchor(slug: string): void {
  const { hash } = address.value;
  useEffect(() => {
    if (hash && !cameBack.value) document.getElementById(hash.slice(1))?.scrollIntoView();
  }, [slug, hash]);
}

export default function DocsPage({ params }: PageProps) {
  const slug = params['page'] ?? '';
  const asked = query.value.get('q') ?? '';
  const [typed, setTyped] = useState(asked);
  const own = useOwn();
  const app = appOf(own.data);
  const page = docPages.find(one => one.slug === slug);
  useAnchor(slug);
  useEffect(() => setTyped(asked), [asked]);
  if (slug && slug !== 'verify' && !page) return <NotFoundPage />;
  return (
    <div class="page">
      <PageHead
        title={page?.title ?? (slug ? 'Programs' : 'Docs')}
        crumb={slug ? { href: '/docs', title: 'Docs' } : undefined}
        text={
          slug ? undefined : (
            <>
              For the developers of your receiver. This dashboard uses only the{' '}
              <a href="/openapi.json">HTTP API</a>, so a script can do everything it does.
            </>
          )
        }
      />
      <div class="narrow">
        <TextField
          label="Search the docs"
          type="search"
          value={typed}
          onChange={text => {
            setTyped(text);
            setQuery({ q: text.trim() });
          }}
        />
      </div>
      {asked ? (
        <Found asked={asked} />
      ) : page ? (
        <>
          <Card>
            <OnThisPage blocks={page.blocks} />
            <DocText blocks={page.blocks} fill={text => fill(text, app)} />
          </Card>
          <Card title="Your values" text="Used in the commands and paths of this page.">
            <OwnValues own={own} />
          </Card>
        </>
      ) : slug ? (
        own.data ? (
          <ProgramsCard apps={own.data.apps} />
        ) : (
          <Loading />
        )
      ) : (
        <>
          <Contents />
          <Card title="Your values" text="Used in the commands and paths of every page.">
            <OwnValues own={own} />
          </Card>
          <EgressCard />
        </>
      )}
    </div>
  );
}
