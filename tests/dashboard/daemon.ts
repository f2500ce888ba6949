// A real daemon on a store of its own, and receivers for its callbacks. Where SCENARIO_POSTGRESQL
// names a server (tests/scenario/postgresql.py), the store is a database there.
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import { request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { constants } from 'node:fs';
import { mkdtemp, open, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';

const binary = process.env['POSTBACKD_BIN'] ?? '../build/postbackd';
export const operatorKey = 'operator-key-of-the-dashboard-tests';
export const onPostgresql = !!process.env['SCENARIO_POSTGRESQL'];

/** Makes a database on the server, and gives its URI. */
export async function newDatabase(name = `d${randomBytes(8).toString('hex')}`): Promise<string> {
  const line = ['../tests/scenario/postgresql.py', 'new', name];
  const { stdout } = await promisify(execFile)('/usr/bin/python3', line);
  return stdout.trim();
}

/** What --store is for a new daemon with this directory. */
async function newStore(directory: string): Promise<string> {
  return onPostgresql ? newDatabase() : `sqlite:${join(directory, 'store')}`;
}

/** Asks again and again until the answer is something: the one way in which tests wait. A check
 * that throws is asked again too; what it complained of last is said when time is up. */
export async function until<T>(
  what: string,
  check: () => Promise<T | null | undefined | false>,
  timeoutMs = 90_000,
): Promise<T> {
  const end = Date.now() + timeoutMs;
  let complaint: Error | null = null;
  for (;;) {
    try {
      const found = await check();
      if (found) return found;
      complaint = null;
    } catch (error) {
      complaint = error as Error;
    }
    if (Date.now() > end) {
      const last = complaint ? `; at last: ${complaint.message}` : '';
      throw new Error(`not within ${timeoutMs} ms: ${what}${last}`);
    }
    await new Promise(resolve => setTimeout(resolve, 30));
  }
}

/** A certificate for this machine that nobody has signed, and its key. */
async function makeCertificate(directory: string): Promise<[string, string]> {
  const [certificate, key] = [join(directory, 'cert.pem'), join(directory, 'key.pem')];
  const line = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
  line.push('-days', '2', '-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1');
  await promisify(execFile)('openssl', [...line, '-keyout', key, '-out', certificate]);
  return [certificate, key];
}

/** As fetch does, but nobody asks who signed the certificate. */
function fetchUnverified(url: string, init: RequestInit): Promise<Response> {
  return new Promise((resolve, reject) => {
    const headers = init.headers as Record<string, string> | undefined;
    const options = { method: init.method ?? 'GET', headers, rejectUnauthorized: false };
    const asked = request(url, options, answer => {
      const parts: Buffer[] = [];
      answer.on('data', (part: Buffer) => parts.push(part));
      answer.on('error', reject);
      answer.on('end', () => {
        const status = answer.statusCode!;
        const body = status === 204 ? null : Buffer.concat(parts).toString();
        resolve(new Response(body, { status }));
      });
    });
    asked.on('error', reject);
    asked.end(init.body);
  });
}

export interface Answer {
  status: number;
  json: any;
}

export class Daemon {
  port = 0;
  private process: ChildProcess | null = null;

  /** What it has said: its log, and on a terminal what it says to people too. */
  said = '';
  private daemonPid = 0;
  private store = '';

  private constructor(
    readonly directory: string,
    private readonly options: string[],
    private readonly onTerminal: boolean,
    private readonly onOwnClock = false,
  ) {}

  static async start(...options: string[]): Promise<Daemon> {
    return Daemon.startAs(false, options);
  }

  /** As somebody starts it by hand: with a terminal. */
  static async startOnTerminal(...options: string[]): Promise<Daemon> {
    return Daemon.startAs(true, options);
  }

  /** With a clock that can be put forward. */
  static async startOnOwnClock(...options: string[]): Promise<Daemon> {
    const directory = await mkdtemp(join(tmpdir(), 'postbackd-dashboard-'));
    const daemon = new Daemon(directory, options, false, true);
    await daemon.putForward(0);
    await daemon.run();
    return daemon;
  }

  private get clock(): string {
    return join(this.directory, 'clock');
  }

  /** So far from the real time, in all. */
  async putForward(seconds: number): Promise<void> {
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64LE(BigInt(seconds));
    // Over the old bytes: the daemon has them mapped.
    const file = await open(this.clock, constants.O_CREAT | constants.O_WRONLY);
    await file.write(bytes, 0, bytes.length, 0);
    await file.close();
  }

  private static async startAs(onTerminal: boolean, options: string[]): Promise<Daemon> {
    const directory = await mkdtemp(join(tmpdir(), 'postbackd-dashboard-'));
    const daemon = new Daemon(directory, options, onTerminal);
    await daemon.run();
    return daemon;
  }

  /** With TLS, and so with HTTP/2 for who asks for it. */
  static async startOverTls(...options: string[]): Promise<Daemon> {
    const directory = await mkdtemp(join(tmpdir(), 'postbackd-dashboard-'));
    const [certificate, key] = await makeCertificate(directory);
    const tls = ['--tls-cert', certificate, '--tls-key', key];
    const daemon = new Daemon(directory, [...tls, ...options], false);
    await daemon.run();
    return daemon;
  }

  private get overTls(): boolean {
    return this.options.includes('--tls-cert');
  }

  get url(): string {
    return `${this.overTls ? 'https' : 'http'}://127.0.0.1:${this.port}`;
  }

  private fetch(path: string, init: RequestInit = {}): Promise<Response> {
    return (this.overTls ? fetchUnverified : fetch)(this.url + path, init);
  }

  private spawn(line: string[]): ChildProcess {
    const env: NodeJS.ProcessEnv = {
      PATH: process.env['PATH'],
      POSTBACKD_OPERATOR_KEY: operatorKey,
    };
    if (onPostgresql) env['POSTBACKD_MASTER_KEY'] = '6b'.repeat(32);
    if (this.onOwnClock) {
      env['LD_PRELOAD'] = join(dirname(resolve(binary)), 'tests/scenario/shim.so');
      env['SHIM_CLOCK'] = this.clock;
    }
    if (!this.onTerminal) return spawn(binary, line, { env, stdio: ['ignore', 'ignore', 'pipe'] });
    const quoted = [binary, ...line].map(word => `'${word}'`).join(' ');
    const script = ['-qfec', `exec ${quoted}`, '/dev/null'];
    return spawn('script', script, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  }

  /** Starts it, on the same store and port where it ran before. */
  async run(): Promise<void> {
    const line = ['serve', '--listen', `127.0.0.1:${this.port}`, '--log-format', 'json'];
    this.store ||= await newStore(this.directory);
    line.push('--store', this.store);
    line.push('--retry-schedule', '1s,2s,600s', '--allow-destination', '127.0.0.0/8');
    line.push('--reads-per-minute', '1000000', ...this.options);
    // Nothing listens there: addresses are taken, and no mail goes out.
    line.push('--smtp-url', 'smtp://127.0.0.1:1', '--mail-from', 'postbackd@wall.example');
    const child = this.spawn(line);
    const from = this.said.length;
    this.process = child;
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (data: Buffer) => (this.said += data.toString()));
    const listening = await until('the daemon listens', async () => {
      if (child.exitCode !== null) throw new Error(`the daemon ended: ${this.said}`);
      return /"event":"listening".*?"address":"[^"]*:(\d+)"/.exec(this.said.slice(from));
    });
    this.port = Number(listening[1]);
    this.daemonPid = child.pid!;
    if (this.onTerminal) {
      const children = await readFile(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8');
      this.daemonPid = Number(children.trim());
    }
    await until('the daemon is ready', async () => (await this.fetch('/readyz')).ok);
  }

  private async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const child = this.process;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    await new Promise<void>(resolve => {
      child.once('exit', () => resolve());
      process.kill(this.daemonPid, signal);
    });
  }

  async kill(): Promise<void> {
    await this.end('SIGKILL');
  }

  /** Ends it and removes its store. */
  async stop(): Promise<void> {
    await this.end('SIGTERM');
    await rm(this.directory, { recursive: true, force: true });
  }

  async ask(method: string, path: string, body?: unknown, key = operatorKey): Promise<Answer> {
    const answer = await this.fetch(path, {
      method,
      headers: { 'X-Api-Key': key, 'Content-Type': 'application/json' },
      body: body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body),
    });
    const text = await answer.text();
    return { status: answer.status, json: text ? JSON.parse(text) : null };
  }

  /** The same, for what must succeed. */
  async good(method: string, path: string, body?: unknown, key = operatorKey): Promise<any> {
    const { status, json } = await this.ask(method, path, body, key);
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(json)}`);
    return json;
  }
}

export interface Received {
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}

/** A partner's receiver: answers what it is told to, and remembers what came. */
export class Receiver {
  readonly received: Received[] = [];
  status = 200;
  answer = 'ok';
  private constructor(private readonly server: Server) {}

  static async start(): Promise<Receiver> {
    const server = createServer();
    const receiver = new Receiver(server);
    server.on('request', (request, response) => {
      let body = '';
      request.on('data', (data: Buffer) => (body += data.toString()));
      request.on('end', () => {
        receiver.received.push({ path: request.url ?? '', headers: request.headers, body });
        response.statusCode = receiver.status;
        response.end(receiver.answer);
      });
    });
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise(resolve => this.server.close(resolve));
  }
}
