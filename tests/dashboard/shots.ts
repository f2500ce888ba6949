// Pictures of every page into docs/dashboard/: both themes, and on a phone. node shots.mjs [WORD...]
import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Window } from './browser';
import { everyPage } from './pages';
import { clearStage, theStage, windowOf } from './stage';

const out = resolve('../docs/dashboard');
const looks = [
  { name: 'light', theme: 'light', width: 1280, height: 860 },
  { name: 'dark', theme: 'dark', width: 1280, height: 860 },
  { name: 'phone', theme: 'light', width: 390, height: 844 },
] as const;

const words = process.argv.slice(2);
const { daemon } = await theStage();
await mkdir(out, { recursive: true });
await daemon.good('POST', '/api/v1/events', {
  EventId: 'picture-1',
  Type: 'survey_completed',
  ClientId: 'quiz-iframe',
  PanelistId: 'player-1200',
  RevenueAmount: '0.85',
});
for (const look of looks) {
  const door = await Window.open(daemon.url, undefined, look);
  await door.go('/');
  await door.picture(join(out, `sign-in-${look.name}.webp`));
  await door.close();
  for (const shown of everyPage) {
    if (words.length && !words.some(word => shown.name.includes(word))) continue;
    const window = await windowOf(shown.role, shown.partner, look);
    await (await window.go(shown.path)).settled();
    await window.picture(join(out, `${shown.name}-${look.name}.webp`));
    await window.close();
  }
}
await clearStage();
console.log(`Pictures are in ${out}.`);
