// What the tests share: a daemon with a world in it, and people who are signed in.
import { createHmac } from 'node:crypto';
import { Daemon, Receiver } from './daemon';
import { startBrowser, stopBrowser, Window, type Look, type State } from './browser';
import { makeWorld } from './world';

export const password = 'correct horse battery';

export interface Stage {
  daemon: Daemon;
  receiver: Receiver;
  broken: Receiver;
}

let stage: Stage | null = null;
const states = new Map<string, State>();

export async function theStage(): Promise<Stage> {
  if (stage) return stage;
  await startBrowser();
  const daemon = await Daemon.start();
  const receiver = await Receiver.start();
  const broken = await Receiver.start();
  broken.status = 500;
  broken.answer = '{"error":"no such user"}';
  await makeWorld(daemon, receiver, broken.url);
  stage = { daemon, receiver, broken };
  return stage;
}

export async function clearStage(): Promise<void> {
  await stopBrowser();
  await stage?.daemon.stop();
  await stage?.receiver.stop();
  await stage?.broken.stop();
}

/** Makes a user and gives the address of the invitation. */
export async function invite(
  daemon: Daemon,
  email: string,
  role: string,
  partner?: string,
): Promise<string> {
  const query = partner ? `?partnerId=${partner}` : '';
  const names: Record<string, string> = {
    owner: 'Ada Byron',
    developer: 'Grace Moss',
    admin: 'Kay Ito',
  };
  const body = { Email: email, Name: names[role] ?? 'Lin Park', Role: role };
  const { Link } = await daemon.good('POST', `/api/v1/users${query}`, body);
  return `/link${new URL(Link, daemon.url).hash}`;
}

async function accept(window: Window, link: string): Promise<void> {
  await window.go(link);
  await window.field('Password').fill(password);
  await window.button('Create my account').click();
  await window.page.locator('#main h1').waitFor();
}

/** A window of somebody who is signed in; each email is one person, made when first asked for. */
export async function windowOf(role: string, partner?: string, look?: Look): Promise<Window> {
  const { daemon } = await theStage();
  const email = `${role}@${partner ?? 'operator'}.example`;
  if (!states.has(email)) {
    const window = await Window.open(daemon.url);
    await accept(window, await invite(daemon, email, role, partner));
    states.set(email, await window.context.storageState());
    await window.close();
  }
  return Window.open(daemon.url, states.get(email), look);
}

/** A person of his own, for tests that end sessions or change passwords. */
export async function freshWindow(
  email: string,
  role: string,
  partner?: string,
  on?: Daemon,
): Promise<Window> {
  const daemon = on ?? (await theStage()).daemon;
  const window = await Window.open(daemon.url);
  await accept(window, await invite(daemon, email, role, partner));
  return window;
}

/** The six digits of an authenticator app (RFC 6238) at a time. */
export function totp(secret: string, at = Date.now()): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
  const bits = [...secret.replace(/[\s=]/g, '')]
    .map(letter => alphabet.indexOf(letter).toString(2).padStart(5, '0'))
    .join('');
  const key = Buffer.from((bits.match(/.{8}/g) ?? []).map(byte => parseInt(byte, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(at / 30_000)));
  const digest = createHmac('sha1', key).update(counter).digest();
  const offset = digest[19]! & 15;
  return String((digest.readUInt32BE(offset) & 0x7fffffff) % 1_000_000).padStart(6, '0');
}
