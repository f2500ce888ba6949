// The system page says where each cluster is, how full, how a move of it goes, and which to move.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Cluster } from '../../dashboard/src/lib/types';
import type { Window } from './browser';
import { answerWith, away, cluster, move } from './clusters';
import { Daemon, newDatabase, onPostgresql } from './daemon';
import { test } from './runner';
import { freshWindow, theStage, windowOf } from './stage';

/** What the table says of each cluster, its cells in one text. */
async function shown(window: Window, ...wanted: RegExp[]): Promise<void> {
  await window.shows(async () => {
    const rows = (await window.rows('Clusters')).map(cells => cells.join(' | '));
    assert.equal(rows.length, wanted.length);
    wanted.forEach((one, at) => assert.match(rows[at]!.replace(/\s+/g, ' '), one));
  });
}

async function systemPage(clusters: Cluster[]): Promise<Window> {
  const window = await windowOf('admin');
  await answerWith(window, clusters);
  await window.go('/');
  return window;
}

const table = (window: Window) => window.page.getByRole('table', { name: 'Clusters' });

test('clusters: one database and no move is nothing new', async () => {
  const window = await windowOf('admin');
  await window.go('/');
  await window.lacks('Clusters', table(window));
  await window.close();
  const stubbed = await systemPage([cluster(0)]);
  await stubbed.lacks('Clusters', table(stubbed));
  await stubbed.close();
});

test('clusters: each is told by what it does, which to move, and what is away', async () => {
  const window = await systemPage([
    cluster(0, { ShouldMove: true }),
    cluster(1, { State: 'moving', Move: move }),
    away(2),
  ]);
  await shown(
    window,
    /^Cluster 0 postbackd_0 on db0.internal:5432 \| In use Its server has much more data and events than the others\. Move .*\| 5\.2 GiB \| 12 \| 9,310,077 160,310 since yesterday \| 118$/,
    /\| Moving Copying to db3.internal:5432: 3 of 22 tables, 1\.9 GiB of about 5\.2 GiB\. Behind by 89\.0 KiB of changes\. \|/,
    /^Cluster 2 \| Away \| – \| 12 \| – \| –$/,
  );
  await window.page.getByRole('progressbar', { name: 'Cluster 1: 35.4 % copied' }).waitFor();
  await window.page.getByRole('alert').getByText('Cluster 2 is away').waitFor();
  await window.close();
});

const none = { TablesCopied: null, Tables: null, Bytes: null };
const old = { ...move, Step: 'switched' as const, Server: 'db9.internal:5432', Running: false };

test('clusters: each step of a move says what is done and what somebody has to do', async () => {
  const steps = [
    { Step: 'beginning' as const, ...none },
    { Bytes: 9e12 },
    { Running: false, Errors: 2 },
    { Step: 'following' as const, BehindBytes: 0 },
    { Step: 'unseen' as const, Server: null, ...none },
  ];
  const moving = steps.map((step, at) =>
    cluster(at, { State: 'moving', Move: { ...move, ...step } }),
  );
  const window = await systemPage([...moving, cluster(5, { State: 'moved', Move: old })]);
  await shown(
    window,
    /Moving Making the tables on db3\.internal:5432\./,
    /Moving Copying to .* \d+(\.\d)? TiB of about 5\.2 GiB\./,
    /Behind by .* The replication had errors: see the log of the server that follows\. The command has ended\. Run the same postbackd move again\./,
    /Moving All tables are copied to db3.* The switch comes next, without a command\. Behind by 0 B of changes\./,
    /Moving The other server does not answer, or is not in the cluster’s URI\./,
    /Moved The old server db9\.internal:5432 is kept up to date\. You can move back until postbackd move --finish\. Behind by [^|]*changes\. \|/,
  );
  await window.page.getByRole('progressbar', { name: 'Cluster 1: 100 % copied' }).waitFor();
  await window.close();
});

test('clusters: a move of the only database is followed to its end', async () => {
  const clusters = [cluster(0, { State: 'moving', Move: move })];
  const window = await systemPage(clusters);
  await shown(window, /Copying to db3\.internal:5432: 3 of 22 tables/);
  clusters[0] = cluster(0, { State: 'moved', Move: old });
  await shown(window, /The old server db9/);
  clusters[0] = cluster(0);
  await table(window).waitFor({ state: 'detached' });
  await window.close();
});

test('clusters: everybody can read them, in both themes and on a phone', async () => {
  const name = 'a-server-with-a-long-name.of-some-region.database.example.com:5432';
  const clusters = [
    cluster(0, { ShouldMove: true }),
    cluster(1, { State: 'moving', Server: name, Move: { ...move, Server: name } }),
    cluster(2, {
      State: 'moving',
      Move: { ...move, Step: 'unseen', Server: null, Running: false },
    }),
    cluster(3, { State: 'moved', Move: { ...move, Step: 'switched', Server: name } }),
    away(4),
  ];
  const window = await systemPage(clusters);
  await table(window).waitFor();
  assert.deepEqual(await window.accessibilityFaults(), []);
  await window.page.emulateMedia({ colorScheme: 'dark' });
  assert.deepEqual(await window.accessibilityFaults(['color-contrast']), [], 'dark');
  await window.page.setViewportSize({ width: 360, height: 740 });
  await window.go('/');
  await table(window).waitFor();
  assert.deepEqual(await window.accessibilityFaults(), [], 'on a phone');
  await window.fits();
  await window.close();
});

/** Nobody reaches the database, or everybody may again. */
async function reach(database: string, may: boolean): Promise<void> {
  const change = `ALTER DATABASE ${database} ALLOW_CONNECTIONS ${may}`;
  const end = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${database}'`;
  const line = ['-XAtq', '-c', change, '-c', end, process.env['SCENARIO_POSTGRESQL']!];
  await promisify(execFile)('psql', line);
}

if (onPostgresql)
  test('clusters: those of a daemon with two databases', async () => {
    await theStage(); // has the browser
    const second = 'second_of_the_dashboard';
    const daemon = await Daemon.start('--store-cluster', await newDatabase(second));
    for (const PartnerId of ['one', 'two', 'three'])
      await daemon.good('POST', '/api/v1/partners', { PartnerId, Name: PartnerId });
    const window = await freshWindow('kay@operator.example', 'admin', undefined, daemon);
    await window.go('/');
    const used = (partners: number) =>
      new RegExp(
        ` on \\S+ \\| In use \\| [\\d.]+ MiB \\| ${partners} \\| 0 0 since yesterday \\| 0$`,
      );
    await shown(window, used(2), used(1));
    await reach(second, false);
    await shown(window, used(2), /^Cluster 1 \| Away \| – \| 1 \|/);
    await window.see('Cluster 1 is away');
    await reach(second, true);
    await shown(window, used(2), used(1));
    await window.close();
    await daemon.stop();
  });
