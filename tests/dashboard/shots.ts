// Pictures of every page into docs/dashboard/: both themes, and on a phone; and a page that shows
// them. node shots.mjs [WORD...]: only those whose names have a word.
import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Window } from './browser';
import { answerWith, everyKind } from './clusters';
import { until } from './daemon';
import { everyPage, type Shown } from './pages';
import { clearStage, theStage, windowOf } from './stage';

const out = resolve('../docs/dashboard');
const looks = [
  { name: 'light', theme: 'light', width: 1280, height: 860, most: 1700 },
  { name: 'dark', theme: 'dark', width: 1280, height: 860, most: 1700 },
  { name: 'phone', theme: 'light', width: 390, height: 844, most: 1400 },
] as const;

interface Picture extends Shown {
  title: string;
  /** A button that is pressed first. */
  press?: string;
  clusters?: boolean;
}

const pressed: Record<string, { title: string; of: string; press: string }> = {
  recover: { title: 'Callbacks: resend a range', of: 'callbacks', press: 'Resend a range' },
  resent: { title: 'Callback: resent, with its answer', of: 'callback', press: 'Resend' },
  'console-sent': { title: 'Test console: what was sent', of: 'console', press: 'Send' },
  invite: { title: 'People: an invitation', of: 'people', press: 'Invite a person' },
  'second-factor': { title: 'My account: second factor', of: 'account', press: 'Switch on' },
};

const titleOf = ({ name }: Shown) =>
  (name[0]!.toUpperCase() + name.slice(1)).replace(/-/g, ' ').replace(/arpdau/i, 'ARPDAU');

const pictures: Picture[] = everyPage.flatMap(page => [
  { ...page, title: titleOf(page) },
  ...Object.entries(pressed)
    .filter(([, { of }]) => of === page.name)
    .map(([name, { title, press }]) => ({ ...page, name, title, press })),
  ...(page.name === 'system'
    ? [{ ...page, name: 'system-clusters', title: 'System: clusters', clusters: true }]
    : []),
]);

async function take(window: Window, picture: string, look: (typeof looks)[number]) {
  await window.grow(look.most);
  await window.picture(join(out, `${picture}-${look.name}.webp`));
}

async function takeDoor(name: string, look: (typeof looks)[number]): Promise<void> {
  const { daemon } = await theStage();
  const door = await Window.open(daemon.url, undefined, look);
  await take(await door.go('/'), name, look);
  await door.close();
}

async function takePage(picture: Picture, look: (typeof looks)[number]): Promise<void> {
  const window = await windowOf(picture.role, picture.partner, look);
  if (picture.clusters) await answerWith(window, everyKind);
  await window.go(picture.path);
  if (picture.press) {
    await window.button(picture.press).first().click();
    await window.page.locator('dialog, .notice, .code').first().waitFor();
    if (picture.name === 'resent') await window.see(/after \d+/);
  }
  // Its rates are differences between two answers.
  if (picture.name.startsWith('system')) await window.page.waitForTimeout(3500);
  await take(window, picture.name, look);
  await window.close();
}

function index(): string {
  const shown = [
    { name: 'set-up', title: 'Before the first person' },
    { name: 'sign-in', title: 'Sign in' },
    ...pictures,
  ];
  const row = ({ name, title }: { name: string; title: string }) =>
    `\n## ${title}\n\n| light | dark | phone |\n|---|---|---|\n` +
    `| ${looks.map(look => `![${title}, ${look.name}](${name}-${look.name}.webp)`).join(' | ')} |\n`;
  return `# The dashboard in pictures

Every page in both themes and on a phone, made by \`./dev shots\` from the world that the browser
tests use. What the pages are made of: [dashboard/README.md](../../dashboard/README.md).
${shown.map(row).join('')}`;
}

/** A callback that has been tried several times: what its page is for. */
async function triedOften(): Promise<string> {
  const { daemon } = await theStage();
  return until('a callback has been tried twice', async () => {
    const query = 'partnerId=sunny-games&appId=quiz-night&state=pending&limit=100';
    const { Items } = await daemon.good('GET', `/api/v1/callbacks?${query}`);
    for (const { RewardId } of Items) {
      const one = await daemon.good('GET', `/api/v1/callbacks/${RewardId}?partnerId=sunny-games`);
      if (one.Attempts.length > 1) return `/callbacks/${RewardId}`;
    }
    return null;
  });
}

const words = process.argv.slice(2);
const wanted = (name: string) => !words.length || words.some(word => name.includes(word));
await theStage();
await mkdir(out, { recursive: true });
for (const look of looks) if (wanted('set-up')) await takeDoor('set-up', look);
const tried = await triedOften();
for (const picture of pictures)
  if (['callback', 'resent'].includes(picture.name)) picture.path = tried;
for (const look of looks) {
  for (const picture of pictures) if (wanted(picture.name)) await takePage(picture, look);
  if (wanted('sign-in')) await takeDoor('sign-in', look);
}
if (!words.length) await writeFile(join(out, 'README.md'), index());
await clearStage();
console.log(`Pictures are in ${out}.`);
